import { isRecord } from './record.js';

/** The three configuration files, which lie beside each other and are easily taken for one another. */
export type ConfigKind = 'server.toml' | 'agent.toml' | 'svc.toml';

/** Which of them a parsed file is, by keys that only one has; null if nothing tells. */
export function kindOfConfig(file: unknown): ConfigKind | null {
  const { databases, server, ...top } = tableOf(file);
  const has = (table: object, names: readonly string[]) => names.some((name) => Object.hasOwn(table, name));
  const isServer =
    Array.isArray(databases) || has(top, ['state_dir', 'workflows']) || isTable(top.database) || isTable(top.temporal);
  if (isServer) return 'server.toml';
  const perEnvironment = Object.values(tableOf(databases)).some((one) => Object.values(tableOf(one)).some(isTable));
  if (perEnvironment || has(tableOf(server), ['agent_token', 'agent_token_file'])) return 'agent.toml';
  const isClient = has(top, ['default_database', 'default_environment', 'migrations_dir']);
  return isClient || has(tableOf(server), ['url', 'token', 'token_file']) ? 'svc.toml' : null;
}

/** What to say to somebody who has given the wrong one. */
export const misplaced = {
  'server.toml': 'this is a server.toml, which "svc server" and "svc worker" read',
  'agent.toml': 'this is an agent.toml, which "svc-agent --config" reads',
  'svc.toml': 'this is a svc.toml, which "svc" reads for the command line',
} as const satisfies Record<ConfigKind, string>;

/** A date of a TOML file is an object too. */
export const isTable = (value: unknown): value is Record<string, unknown> => isRecord(value) && !(value instanceof Date);

const tableOf = (value: unknown): Record<string, unknown> => (isTable(value) ? value : {});
