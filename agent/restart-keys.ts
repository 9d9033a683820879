import { isDeepStrictEqual } from 'node:util';
import type { AgentToml } from './config-schema.js';
import type { AgentConfig } from './config-values.js';

type KeysOf<T> = {
  [K in keyof T & string]: NonNullable<T[K]> extends string | number | readonly unknown[]
    ? K
    : `${K}.${keyof NonNullable<T[K]> & string}`;
}[keyof T & string];

/** Not reported by themselves: they only set or allow another key's value. */
type Aside = 'server.agent_token_file' | 'server.trusted_keys_file' | 'server.allow_insecure' | 'telemetry.allow_insecure';

/** The value in force of each key outside of `databases`. All of them are read at the start only (AP-19). */
const values = {
  agent_id: ({ agentId }) => agentId,
  max_concurrent_tasks: ({ maxConcurrentTasks }) => maxConcurrentTasks,
  max_concurrent_explains: ({ maxConcurrentExplains }) => maxConcurrentExplains,
  poll_wait_ms: ({ pollWaitMs }) => pollWaitMs,
  poll_interval_ms: ({ pollIntervalMs }) => pollIntervalMs,
  drain_timeout_secs: ({ drainTimeoutMs }) => drainTimeoutMs,
  statement_timeout_secs: ({ statementTimeoutSecs }) => statementTimeoutSecs,
  max_statement_timeout_secs: ({ maxStatementTimeoutSecs }) => maxStatementTimeoutSecs,
  operations: ({ operations }) => operations,
  result_retry_secs: ({ resultRetryMs }) => resultRetryMs,
  fence_wait_secs: ({ fenceWaitMs }) => fenceWaitMs,
  migration_lock_wait_secs: ({ migrationLockWaitMs }) => migrationLockWaitMs,
  startup_retry_initial_ms: ({ startup }) => startup.retryInitialMs,
  startup_retry_max_ms: ({ startup }) => startup.retryMaxMs,
  startup_max_wait_secs: ({ startup }) => startup.maxWaitMs,
  'server.url': ({ server }) => server.url,
  'server.agent_token': ({ server }) => server.agentToken,
  'server.trusted_keys': ({ server }) => server.trustedKeys,
  'server.ca_file': ({ server }) => server.ca,
  'limits.max_rows': ({ limits }) => limits.maxRows,
  'limits.max_result_bytes': ({ limits }) => limits.maxResultBytes,
  'limits.max_row_bytes': ({ limits }) => limits.maxRowBytes,
  'marker.mode': ({ marker }) => marker.mode,
  'marker.schema': ({ marker }) => marker.schema,
  'marker.table': ({ marker }) => marker.table,
  'marker.retention_days': ({ marker }) => marker.retentionDays,
  'schema_sync.enabled': ({ snapshotSync }) => snapshotSync.enabled,
  'schema_sync.sync_on_startup': ({ snapshotSync }) => snapshotSync.onStartup,
  'schema_sync.interval_secs': ({ snapshotSync }) => snapshotSync.intervalMs,
  'probes.dir': ({ probes }) => probes.dir,
  'probes.listen': ({ probes }) => probes.listen,
  'telemetry.otlp_endpoint': ({ telemetry }) => telemetry.endpoint,
  'telemetry.sample_ratio': ({ telemetry }) => telemetry.sampleRatio,
  'log.level': ({ log }) => log.level,
  'log.format': ({ log }) => log.format,
} as const satisfies Record<Exclude<KeysOf<Omit<AgentToml, 'databases'>>, Aside>, (config: AgentConfig) => unknown>;

/** The keys in which the file differs from what the process runs with, and which only a restart changes. */
export function listRestartKeys(running: AgentConfig, file: AgentConfig): string[] {
  return Object.entries(values).flatMap(([key, of]) => (isDeepStrictEqual(of(running), of(file)) ? [] : [key]));
}
