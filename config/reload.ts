import { deepFreeze } from './build.js';
import { toCamel } from './camel.js';
import type { Config } from './types.js';

/** The `–` keys of the key tables, which are read at the start only (CF-42). */
export const RESTART_KEYS = [
  'state_dir',
  'server.listen',
  'worker.listen',
  'worker.max_concurrent_activities',
  'database.url',
  'database.pool_max',
  'database.connect_timeout_secs',
  'database.pool_wait_secs',
  'database.statement_timeout_secs',
  'database.start_wait_secs',
  'database.ca_file',
  'temporal.address',
  'temporal.namespace',
  'temporal.task_queue',
  'temporal.tls',
  'temporal.tls_files.ca',
  'temporal.tls_files.cert',
  'temporal.tls_files.key',
  'temporal.tls_files.server_name',
  'temporal.api_key',
  'temporal.call_timeout_secs',
  'temporal.max_backlog',
  'temporal.ui_url',
  'security.secret_key_file',
  'security.audit_public_keys',
  'audit.anchor_command',
  'audit.anchor_url',
  'audit.anchor_token',
  'audit.anchor_timeout_secs',
  'bootstrap.admin_token',
  'bootstrap.agent_token',
  'logging.format',
  'telemetry.otlp_endpoint',
  'telemetry.sample_ratio',
  'telemetry.allow_insecure',
  'result_storage.backend',
  'result_storage.root_dir',
  'result_storage.bucket',
  'result_storage.region',
  'result_storage.prefix',
  'result_storage.endpoint',
  'result_storage.access_key_id',
  'result_storage.secret_access_key',
  'result_storage.path_style',
] as const;

/** The `–` keys in which the file differs from what the process runs with. Each is a warning `needs a restart: <key>` (CF-42). */
export function listRestartKeys(running: Config, file: Config): string[] {
  return RESTART_KEYS.filter(
    (key) => JSON.stringify(at(running, ...key.split('.'))) !== JSON.stringify(at(file, ...key.split('.'))),
  );
}

/** The file's configuration with the `–` keys that the process runs with, so that no change takes effect by half (CF-42). */
export function keepRestartKeys(running: Config, file: Config): Config {
  const next = structuredClone(file);
  for (const key of RESTART_KEYS) {
    const path = key.split('.');
    const table = at(next, ...path.slice(0, -1)) as Record<string, unknown>;
    table[toCamel(path.at(-1) ?? '')] = at(running, ...path);
  }
  return deepFreeze({ ...next, security: running.security });
}

/** The value of a key or table of the file in the configuration. */
const at = (config: Config, ...path: string[]): unknown =>
  path.map(toCamel).reduce<unknown>((value, part) => (value as Record<string, unknown>)[part], config);
