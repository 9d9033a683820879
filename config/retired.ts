import { isRecord } from '../lib/record.js';
import type { Path } from './positions.js';
import type { Findings } from './problems.js';

/** Removes the retired keys of CF-4 from the parsed file; each is reported with what replaces it. */
export function dropRetiredKeys(file: Record<string, unknown>, findings: Findings): void {
  for (const { path, instead } of RETIRED) {
    for (const place of holders(file, path)) {
      findings.error({ path: [...place.path, place.key], message: 'is no longer a key', hint: instead, at: 'key' });
      delete place.table[place.key];
    }
  }
  if (isRecord(file.sql_review)) {
    findings.error({
      path: ['sql_review'],
      message: 'a single table is no longer read',
      hint: 'write [[sql_review]]',
      at: 'key',
    });
    delete file.sql_review;
  }
  for (const { table } of holders(file, ['auth', 'mode'])) {
    findings.warning({
      path: ['auth', 'mode'],
      message: 'has no effect',
      hint: 'API tokens are always accepted, JWTs with [auth.oidc]',
      at: 'key',
    });
    delete table.mode;
  }
}

const RETIRED = [
  { path: ['users'], instead: 'users are created over the API, see svc user add' },
  { path: ['auto_approve'], instead: 'use workflows[].auto_approve' },
  { path: ['tracing'], instead: 'use otlp_endpoint and sample_ratio of [telemetry]' },
  { path: ['auth', 'role_bindings'], instead: 'give roles with svc user update, or use [[auth.oidc.role_mappings]]' },
  { path: ['auth', 'groups', '[]', 'members'], instead: 'memberships are kept by the gateway, see svc user update' },
  { path: ['auth', 'oidc', 'client_secret_env'], instead: 'use client_secret, which may name a variable' },
];

interface Holder {
  table: Record<string, unknown>;
  path: Path;
  key: string;
}

/** The tables in which the last name of the path stands; `[]` means every entry of a list. */
function holders(value: unknown, names: readonly string[], path: Path = []): Holder[] {
  const [name = '', ...rest] = names;
  if (name === '[]') return Array.isArray(value) ? value.flatMap((item, index) => holders(item, rest, [...path, index])) : [];
  if (!isRecord(value) || !Object.hasOwn(value, name)) return [];
  return rest.length === 0 ? [{ table: value, path, key: name }] : holders(value[name], rest, [...path, name]);
}
