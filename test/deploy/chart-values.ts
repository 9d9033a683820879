import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';

/** A node of values.schema.json: one with `properties` is a group, any other a value. */
interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
}

export interface ChartValue {
  /** With dots, such as `api.replicas`. */
  key: string;
  fallback: unknown;
  description: string;
}

const chart = new URL('../../deploy/helm/', import.meta.url);
/** The page with the table of values. After a change of values or their schema, `npx tsx test/deploy/chart-values.ts` writes the table again. */
export const chartPage = new URL('README.md', chart);

const begin = '<!-- values -->\n';
const end = '<!-- end of values -->';

/** The page with the table of the current values. */
export async function withCurrentValues(page: string): Promise<string> {
  const [before = '', rest = ''] = page.split(begin);
  const after = rest.slice(rest.indexOf(end));
  const rows = (await chartValues()).map(
    ({ key, fallback, description }) => `| \`${key}\` | ${shown(fallback)} | ${description} |`,
  );
  return `${before}${begin}\n| Value | Default | Meaning |\n|---|---|---|\n${rows.join('\n')}\n\n${after}`;
}

/** Every value of the schema, with its default from values.yaml. */
export async function chartValues(): Promise<ChartValue[]> {
  const schema: Schema = JSON.parse(await readFile(new URL('values.schema.json', chart), 'utf8'));
  return [...valuesOf(schema, parse(await readFile(new URL('values.yaml', chart), 'utf8')), '')];
}

function* valuesOf({ properties, description = '' }: Schema, fallback: unknown, key: string): Generator<ChartValue> {
  // Helm itself adds it where the chart is part of another one.
  if (key === 'global') return;
  if (properties === undefined) return yield { key, fallback, description };
  for (const [name, inner] of Object.entries(properties))
    yield* valuesOf(inner, (fallback as Record<string, unknown> | undefined)?.[name], key === '' ? name : `${key}.${name}`);
}

function shown(value: unknown): string {
  if (typeof value === 'string' && value.includes('\n')) return '[an example](values.yaml)';
  return `\`${JSON.stringify(value)}\``;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await writeFile(chartPage, await withCurrentValues(await readFile(chartPage, 'utf8')));
