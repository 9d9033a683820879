/** The small checks of which those of blocks are made. */

export type Loose = Readonly<Record<string, unknown>>;
export type Report = (path: string, problem: string) => void;

export function anyText(text: unknown, most: number, path: string, report: Report): void {
  if (!isObject(text)) return void report(path, 'must be an object');
  if (text.type === 'plain_text') return void plainText(text, most, path, report);
  if (text.type !== 'mrkdwn') report(`${path}/type`, 'must be mrkdwn or plain_text');
  onlyKeys(text, ['type', 'text', 'verbatim'], path, report);
  lengthOf(text.text, 1, most, `${path}/text`, report);
}

export function plainText(text: unknown, most: number, path: string, report: Report): void {
  if (!isObject(text) || text.type !== 'plain_text') return void report(path, 'must be a plain_text object');
  onlyKeys(text, ['type', 'text', 'emoji'], path, report);
  lengthOf(text.text, 1, most, `${path}/text`, report);
}

export function optionalText(text: unknown, most: number, path: string, report: Report, least = 1): void {
  if (text !== undefined) lengthOf(text, least, most, path, report);
}

export function lengthOf(text: unknown, least: number, most: number, path: string, report: Report): void {
  if (typeof text !== 'string') return void report(path, 'must be a string');
  if (text.length < least) report(path, `must be more than ${least - 1} characters`);
  if (text.length > most) report(path, `must be less than ${most + 1} characters`);
}

export function each(
  list: unknown,
  most: number,
  path: string,
  report: Report,
  check: (item: unknown, path: string) => void,
): void {
  if (!Array.isArray(list)) return void report(path, 'must be an array');
  if (list.length === 0) report(path, 'no items');
  if (list.length > most) report(path, `no more than ${most} items allowed`);
  for (const [index, item] of list.entries()) check(item, `${path}/${index}`);
}

export function onlyKeys(value: Loose, keys: readonly string[], path: string, report: Report): void {
  for (const key of Object.keys(value)) if (!keys.includes(key)) report(path, `invalid additional property: ${key}`);
}

export const isObject = (value: unknown): value is Loose => typeof value === 'object' && value !== null && !Array.isArray(value);
