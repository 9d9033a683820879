import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { fileSchema } from '../../config/draft.js';
import { loadConfig } from '../../config/index.js';
import { listKeys } from '../../config/known-keys.js';

const example = readFileSync('server.toml.example', 'utf8');
const everything = parse(example.replace(/^#(?=[a-z[])/gm, ''));
const known = listKeys(fileSchema);

describe('server.toml.example', () => {
  it('checks without errors, given its variable (CF-I7)', () => {
    const loaded = loadConfig('server.toml.example', { SVC_DATABASE_URL: 'postgres://svc@localhost/svc' });
    expect(loaded).toMatchObject({ ok: true });
  });

  it('names every key of the schema, and no other', () => {
    const named = new Set(leavesOf(everything, '').map(([path]) => path));
    expect([...named].sort()).toEqual(known.map(({ path }) => path).sort());
  });

  it('shows each key that has a default with that default; only names of the example and lists stand beside theirs', () => {
    const shown = new Map<string, unknown[]>();
    for (const [path, value] of leavesOf(everything, '')) shown.set(path, [...(shown.get(path) ?? []), value]);
    const others = known.filter(
      ({ path, about: { fallback } }) =>
        fallback !== undefined && !Array.isArray(fallback) && !shown.get(path)?.some((value) => asPlain(value) === fallback),
    );
    expect(others.map(({ path }) => path)).toEqual(OTHER_VALUES);
  });
});

/** What the example needs to be one: its own pairs, a production that asks for a reason, secrets from variables, an environment that is there. */
const OTHER_VALUES = [
  'slack.bot_token',
  'slack.signing_secret',
  'mcp.default_environment',
  'workflows[].environment',
  'workflows[].require_reason',
  'execution_policies[].environment',
  'result_policies[].database',
  'notification_policies[].database',
  'notification_policies[].environment',
];

const asPlain = (value: unknown) =>
  typeof value === 'string' ? value.replace(/^\$\{\w+:-(.*)\}$/, '$1') : typeof value === 'bigint' ? Number(value) : value;

function leavesOf(value: unknown, path: string): [string, unknown][] {
  if (Array.isArray(value) && typeof value[0] === 'object') return value.flatMap((item) => leavesOf(item, `${path}[]`));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, item]) => leavesOf(item, path === '' ? key : `${path}.${key}`));
}
