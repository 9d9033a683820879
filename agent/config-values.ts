import type { Operation } from '../domain/policies.js';
import type { ListenAddress } from './listen-address.js';

export interface DatabaseConfig {
  database: string;
  environment: string;
  url: string;
  readUrl: string;
  /** PostgreSQL only; null when the file sets none. */
  searchPath: string | null;
  /** Null: one connection for each job and plan at once, and one more. */
  poolMax: number | null;
  /** Functions that a plan before approval may evaluate, as `schema.name` or `name` (HD-1). */
  explainFunctions: readonly string[];
}

/** What a driver is made from. */
export type DriverConfig = DatabaseConfig & { poolMax: number };

export interface AgentConfig {
  agentId: string;
  maxConcurrentTasks: number;
  maxConcurrentExplains: number;
  pollWaitMs: number;
  pollIntervalMs: number;
  drainTimeoutMs: number;
  statementTimeoutSecs: number;
  maxStatementTimeoutSecs: number;
  operations: readonly Operation[];
  resultRetryMs: number;
  fenceWaitMs: number;
  migrationLockWaitMs: number;
  startup: { retryInitialMs: number; retryMaxMs: number; maxWaitMs: number };
  server: {
    url: string;
    agentToken: string;
    ca: string | null;
    /** Public keys trusted to sign (HD-80); null = every key that the gateway serves. */
    trustedKeys: readonly string[] | null;
  };
  limits: { maxRows: number; maxResultBytes: number; maxRowBytes: number };
  marker: { mode: 'auto' | 'required' | 'off'; schema: string | null; table: string; retentionDays: number };
  snapshotSync: { enabled: boolean; onStartup: boolean; intervalMs: number };
  probes: { dir: string; listen: ListenAddress | null };
  /** Where traces go; null = nowhere. */
  telemetry: { endpoint: string | null; sampleRatio: number };
  log: { level: 'error' | 'warn' | 'info' | 'debug'; format: 'text' | 'json' };
  databases: DatabaseConfig[];
}
