import { z } from 'zod';

export const OPERATIONS = [
  'execute_select',
  'execute_dml',
  'migrate_up',
  'migrate_down',
  'migrate_status',
  'migrate_repair',
] as const;
export type Operation = (typeof OPERATIONS)[number];

const scopeName = z.string().regex(/^[a-z][a-z0-9_-]{0,62}$/, 'is no database or environment name');
const text = z.string().min(1, 'is empty');
const count = (min: number, max = 2_147_483_647) => z.int().min(min).max(max);
const seconds = (fallback: number) => count(0, 2_000_000).default(fallback);
const identifier = z.string().regex(/^[A-Za-z_][A-Za-z0-9_$]{0,62}$/, 'is no plain identifier');

const database = z.strictObject({
  url: text.optional(),
  url_file: text.optional(),
  read_url: text.optional(),
  read_url_file: text.optional(),
  pool_max: count(1, 1000).optional(),
});

/** agent.toml as written, with the defaults of its key table (section 2); an unknown key is an error. */
export const agentToml = z.strictObject({
  agent_id: text.optional(),
  max_concurrent_tasks: count(1, 1000).default(8),
  max_concurrent_explains: count(0, 10).default(2),
  poll_wait_ms: count(0, 30_000).default(20_000),
  poll_interval_ms: count(1).default(1000),
  drain_timeout_secs: seconds(60),
  statement_timeout_secs: seconds(60),
  max_statement_timeout_secs: seconds(0),
  operations: z
    .array(z.enum(OPERATIONS))
    .min(1)
    .default(['execute_select', 'execute_dml', 'migrate_up', 'migrate_down', 'migrate_status']),
  result_retry_secs: seconds(900),
  fence_wait_secs: seconds(30),
  migration_lock_wait_secs: seconds(60),
  startup_retry_initial_ms: count(1).default(1000),
  startup_retry_max_ms: count(1).default(15_000),
  startup_max_wait_secs: seconds(60),
  server: z.strictObject({
    url: text,
    agent_token: text.optional(),
    agent_token_file: text.optional(),
    allow_insecure: z.boolean().default(false),
    ca_file: text.optional(),
  }),
  limits: z
    .strictObject({
      max_rows: count(0).default(10_000),
      max_result_bytes: count(1024, 1_073_741_824).default(10_485_760),
      max_row_bytes: count(1024, 1_073_741_824).default(16_777_216),
    })
    .prefault({}),
  marker: z
    .strictObject({
      mode: z.enum(['auto', 'required', 'off']).default('auto'),
      schema: identifier.optional(),
      table: identifier.default('svc_execution_marker'),
      retention_days: count(1, 100_000).default(180),
    })
    .prefault({}),
  schema_sync: z
    .strictObject({
      enabled: z.boolean().default(true),
      sync_on_startup: z.boolean().default(true),
      interval_secs: seconds(0),
    })
    .prefault({}),
  probes: z.strictObject({ dir: text.default('/tmp'), listen: text.optional() }).prefault({}),
  log: z
    .strictObject({
      level: z.enum(['error', 'warn', 'info', 'debug']).default('info'),
      format: z.enum(['text', 'json']).default('text'),
    })
    .prefault({}),
  databases: z.record(scopeName, z.record(scopeName, database)),
});

export type AgentToml = z.infer<typeof agentToml>;
