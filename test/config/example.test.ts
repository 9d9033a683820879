import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { fileSchema } from '../../config/draft.js';
import { loadConfig } from '../../config/index.js';
import { listKeys } from '../../config/known-keys.js';

const example = readFileSync('server.toml.example', 'utf8');

describe('server.toml.example', () => {
  it('checks without errors, given its variable (CF-I7)', () => {
    const loaded = loadConfig('server.toml.example', { SVC_DATABASE_URL: 'postgres://svc@localhost/svc' });
    expect(loaded).toMatchObject({ ok: true });
  });

  it('names every key of the schema, and no other', () => {
    const everything = parse(example.replace(/^#(?=[a-z[])/gm, ''));
    expect([...new Set(keysOf(everything, ''))].sort()).toEqual(listKeys(fileSchema).sort());
  });
});

function keysOf(value: unknown, path: string): string[] {
  if (Array.isArray(value) && typeof value[0] === 'object') return value.flatMap((item) => keysOf(item, `${path}[]`));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path];
  return Object.entries(value).flatMap(([key, item]) => keysOf(item, path === '' ? key : `${path}.${key}`));
}
