import type { Config } from './types.js';

/** CF-42: the `–` keys that differ between two configurations, as dotted paths of the file; each is a warning `needs a restart: <key>`. */
export function listRestartKeys(before: Config, after: Config): string[] {
  return Object.entries(RESTART_KEYS).flatMap(([key, read]) =>
    JSON.stringify(read(before)) === JSON.stringify(read(after)) ? [] : [key],
  );
}

const RESTART_KEYS: Readonly<Record<string, (config: Config) => unknown>> = {
  state_dir: (config) => config.stateDir,
  'server.listen': (config) => config.server.listen,
  'worker.listen': (config) => config.worker.listen,
  'worker.max_concurrent_activities': (config) => config.worker.maxConcurrentActivities,
  'database.url': (config) => config.database.url,
  'database.pool_max': (config) => config.database.poolMax,
  'database.connect_timeout_secs': (config) => config.database.connectTimeoutSecs,
  'database.pool_wait_secs': (config) => config.database.poolWaitSecs,
  'database.statement_timeout_secs': (config) => config.database.statementTimeoutSecs,
  'database.start_wait_secs': (config) => config.database.startWaitSecs,
  'database.ca_file': (config) => config.database.caFile,
  'temporal.address': (config) => config.temporal.address,
  'temporal.namespace': (config) => config.temporal.namespace,
  'temporal.task_queue': (config) => config.temporal.taskQueue,
  'temporal.tls': (config) => config.temporal.tls,
  'temporal.tls_files.ca': (config) => config.temporal.tlsFiles.ca,
  'temporal.tls_files.cert': (config) => config.temporal.tlsFiles.cert,
  'temporal.tls_files.key': (config) => config.temporal.tlsFiles.key,
  'temporal.tls_files.server_name': (config) => config.temporal.tlsFiles.serverName,
  'temporal.api_key': (config) => config.temporal.apiKey,
  'temporal.call_timeout_secs': (config) => config.temporal.callTimeoutSecs,
  'temporal.max_backlog': (config) => config.temporal.maxBacklog,
  'temporal.ui_url': (config) => config.temporal.uiUrl,
  'security.secret_key_file': (config) => config.security.secretKeyFile,
  'security.audit_public_keys': (config) => config.security.auditPublicKeys,
  'bootstrap.admin_token': (config) => config.bootstrap.adminToken,
  'bootstrap.agent_token': (config) => config.bootstrap.agentToken,
  'logging.format': (config) => config.logging.format,
  'tracing.endpoint': (config) => config.tracing.endpoint,
  'tracing.sample_ratio': (config) => config.tracing.sampleRatio,
  'result_storage.backend': (config) => config.resultStorage.backend,
  'result_storage.root_dir': (config) => config.resultStorage.rootDir,
  'result_storage.bucket': (config) => config.resultStorage.bucket,
  'result_storage.region': (config) => config.resultStorage.region,
  'result_storage.prefix': (config) => config.resultStorage.prefix,
  'result_storage.endpoint': (config) => config.resultStorage.endpoint,
  'result_storage.access_key_id': (config) => config.resultStorage.accessKeyId,
  'result_storage.secret_access_key': (config) => config.resultStorage.secretAccessKey,
  'result_storage.path_style': (config) => config.resultStorage.pathStyle,
};
