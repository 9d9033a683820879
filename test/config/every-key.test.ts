import { describe, expect, it } from 'vitest';
import { toCamel } from '../../config/camel.js';
import { fileSchema } from '../../config/draft.js';
import { type KnownKey, listKeys } from '../../config/known-keys.js';
import { configOf, errorsOf, MINIMAL } from './support.js';

const known = listKeys(fileSchema);

/** What an entry of a list needs to be one. */
const entries: Record<string, string> = {
  'auth.roles[]': 'name = "r"\npermissions = ["request.query"]',
  'auth.groups[]': 'name = "g"',
  'databases[]': 'name = "shop"\nenvironments = ["staging"]',
  'workflows[]': 'auto_approve = { mode = "always" }',
  'execution_policies[]': '',
  'sql_review[]': '',
  'result_policies[]': '',
  'webhooks[]': 'id = "w"\nurl = "https://w.example.net/"',
  'notification_policies[]': '',
};

/** A value in the key's range that is not its default; undefined for texts and lists, which have no range. */
function otherValue({ about: { type, fallback, rule = '' } }: KnownKey): string | undefined {
  const choices = rule.split(', ');
  if (fallback === 600) return '601';
  if (type === 'boolean') return String(fallback !== true);
  if (type === 'number') return '0.5';
  if (type === 'integer') {
    const least = Number(/^(?:at least )?(\d+)/.exec(rule)?.[1]);
    return String(least === fallback ? least + 1 : least);
  }
  return choices.length > 1 && choices.includes(String(fallback))
    ? `"${choices.find((choice) => choice !== fallback)}"`
    : undefined;
}

const tableOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('.')));
const header = (table: string) => (table === '' ? '' : table.endsWith('[]') ? `[[${table.slice(0, -2)}]]` : `[${table}]`);

/** The file with one line more in a table or in one entry of a list; undefined where the table needs others around it. */
function fileWith(table: string, line: string): string | undefined {
  if (table === '') return `${line}\n${MINIMAL}`;
  if (table === 'database') return `${MINIMAL}${line}\n`;
  if (table.endsWith('[]') && entries[table] === undefined) return undefined;
  if (table.slice(0, -2).includes('[]') || /oidc|auto_approve/.test(table)) return undefined;
  return `${MINIMAL}${header(table)}\n${entries[table] ?? ''}\n${line}\n`;
}

const changes = known.flatMap((key) => {
  const value = otherValue(key);
  const table = tableOf(key.path);
  const file = value === undefined ? undefined : fileWith(table, `${key.path.slice(table.length).replace(/^\./, '')} = ${value}`);
  return file === undefined ? [] : [{ path: key.path, value: value!, file, base: fileWith(table, '')! }];
});

/** Every value of a configuration by its path. */
function leavesOf(value: unknown, path = ''): Map<string, unknown> {
  // Each file is loaded in a folder of its own.
  if (typeof value === 'string') return new Map([[path, value.replace(/svc-config-\w+/, '')]]);
  if (typeof value !== 'object' || value === null) return new Map([[path, value]]);
  return new Map(Object.entries(value).flatMap(([key, item]) => [...leavesOf(item, path === '' ? key : `${path}.${key}`)]));
}

describe('CF-I4: each key', () => {
  it('covers every key with a range, a switch or choices, but those of tables that need others around them', () => {
    expect(changes.length).toBeGreaterThan(70);
  });

  it.each(changes)('CF-I4: $path = $value, changed alone, is what the process runs with', ({ path, value, file, base }) => {
    const [before, after] = [configOf(base), configOf(file)].map((config) => leavesOf({ ...config, file: null }));
    const changed = [...after!].filter(([leaf, now]) => before!.get(leaf) !== now && !/(digest|fingerprint)/.test(leaf));
    const name = path.slice(path.lastIndexOf('.') + 1);
    const expected = new RegExp(`(^|\\.)(${name}|${toCamel(name)})$`);
    const own = changed.filter(([leaf]) => expected.test(leaf));
    expect(new Set(own.map(([, now]) => String(now)))).toEqual(new Set([value.replaceAll('"', '')]));
    expect(changed.length).toBe(own.length);
  });

  const tables = [...new Set(known.map(({ path }) => tableOf(path)))];
  it.each(tables.filter((table) => fileWith(table, '') !== undefined))(
    'CF-I4: in table "%s" a key that nobody documented is refused',
    (table) => {
      const errors = errorsOf(fileWith(table, 'nobody_documented = 1')!);
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatch(/nobody_documented: unknown key$/);
    },
  );
});
