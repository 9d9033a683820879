import { z } from 'zod';
import { OPERATIONS } from '../domain/policies.js';
import { readListen } from './listen-address.js';

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export const LOG_FORMATS = ['text', 'json'] as const;

const scopeName = z.string().regex(/^[a-z][a-z0-9_-]{0,62}$/, 'is no database or environment name');
const text = z.string().min(1, 'is empty');
const count = (min: number, max = 2_147_483_647) => z.int().min(min).max(max);
const seconds = (fallback: number) => count(0, 2_000_000).default(fallback);
const identifier = z.string().regex(/^[A-Za-z_][A-Za-z0-9_$]{0,62}$/, 'is no plain identifier');
/** Comma-separated names, as SET search_path takes them; `"$user"` stands for the role. */
const searchPath = z
  .string()
  .max(1000)
  .regex(/^ *(?:"[^"\0]+"|[a-z_][a-z0-9_$]*)(?: *, *(?:"[^"\0]+"|[a-z_][a-z0-9_$]*))* *$/, 'is no list of schemas');
const listenAddress = z
  .string()
  .refine((listen) => readListen(listen) !== null, 'must be a port, host:port or [address]:port')
  .transform((listen) => readListen(listen)!);

/** A rotation needs two keys. */
export const maxTrustedKeys = 64;
export const defaultProbesDir = 'state';
const functionName = z.string().regex(/^([^\s."()]{1,63}\.)?[^\s."()]{1,63}$/, 'is no function as `name` or `schema.name`');

const database = z.strictObject({
  url: text
    .optional()
    .describe('address with the credentials for writes: `postgres://`, `postgresql://`, `mysql://` or `mariadb://`'),
  url_file: text.optional().describe('file that contains the `url`'),
  read_url: text.optional().describe('address with credentials that can only read, for reads and EXPLAIN; the `url` if absent'),
  read_url_file: text.optional().describe('file that contains the `read_url`'),
  search_path: searchPath
    .optional()
    .describe(
      'schemas in which PostgreSQL looks for names without one, whatever role and database say; `"$user", public` if absent',
    ),
  pool_max: count(1, 1000).optional().describe('connections to it at most; tasks + explains + 1 if absent'),
  explain_functions: z
    .array(functionName)
    .max(1000)
    .default([])
    .describe('functions, `name` or `schema.name`, that plans before approval may evaluate besides the harmless built-ins'),
});

/** agent.toml as written, with the defaults and limits of agent-process.md section 2; an unknown key is an error. */
export const agentToml = z.strictObject({
  agent_id: text.optional().describe('a label in the log; the host name if absent'),
  max_concurrent_tasks: count(1, 1000).default(8).describe('jobs at once'),
  max_concurrent_explains: count(0, 10).default(2).describe('plans for approvers and preflights at once'),
  poll_wait_ms: count(0, 30_000).default(20_000).describe('how long a poll waits for work'),
  poll_interval_ms: count(1).default(1000).describe('pause after a failed poll or a refused claim'),
  drain_timeout_secs: seconds(60).describe('how long running jobs may continue after SIGTERM'),
  statement_timeout_secs: seconds(60).describe('used only when a claim brings none'),
  max_statement_timeout_secs: seconds(0).describe('upper bound of every statement timeout, of "no limit" too; 0 = none'),
  operations: z
    .array(z.enum(OPERATIONS))
    .min(1)
    .default(['execute_select', 'execute_dml', 'migrate_up', 'migrate_down', 'migrate_status'])
    .describe('what this agent runs; `migrate_repair` must be listed to be taken'),
  result_retry_secs: seconds(900).describe('how long a result is sent again while the gateway does not answer'),
  fence_wait_secs: seconds(30).describe('how long a write waits for an earlier attempt that still runs in the database'),
  migration_lock_wait_secs: seconds(60).describe('how long a migration waits for the lock of migrations'),
  startup_retry_initial_ms: count(1).default(1000).describe('pause after the first failed step of the start; it doubles'),
  startup_retry_max_ms: count(1).default(15_000).describe('longest such pause'),
  startup_max_wait_secs: seconds(60).describe('deadline of the whole start; 0 = no limit'),
  server: z.strictObject({
    url: text.describe('address of the gateway; a path is kept'),
    agent_token: text.optional().describe('API token of subject type `agent`'),
    agent_token_file: text.optional().describe('file that contains it; one of the two is needed'),
    allow_insecure: z.boolean().default(false).describe('allows plain http to another host; `SVC_ALLOW_INSECURE=1` does too'),
    trusted_keys: z
      .array(z.string().regex(/^[0-9a-f]{64}$/, 'is no public key: 64 lowercase hex characters'))
      .min(1, 'is empty')
      .max(maxTrustedKeys)
      .optional()
      .describe(
        'public keys of the gateway that may sign, hex; `svc server keys list` prints the line; every key that it serves if absent',
      ),
    trusted_keys_file: text.optional().describe('file that contains them, one per line'),
    ca_file: text.optional().describe('certificates to trust instead of the public ones, PEM'),
  }),
  limits: z
    .strictObject({
      max_rows: count(0).default(10_000).describe('rows of a result'),
      max_result_bytes: count(1024, 1_073_741_824).default(10_485_760).describe('bytes of a result'),
      max_row_bytes: count(1024, 1_073_741_824).default(16_777_216).describe('bytes of one row; a longer one ends the read'),
    })
    .prefault({}),
  marker: z
    .strictObject({
      mode: z
        .enum(['auto', 'required', 'off'])
        .default('auto')
        .describe('`required` refuses writes where no marker can be written, `off` writes none'),
      schema: identifier
        .optional()
        .describe(
          "schema of the table, on MySQL a database; `svc` if absent, or where the role may not make that, the role's first one or the database of the address",
        ),
      table: identifier.default('svc_execution_marker').describe('name of the table'),
      retention_days: count(1, 100_000)
        .default(180)
        .describe("age at which rows are deleted; not below the gateway's `retention.request_ttl_days`"),
    })
    .prefault({}),
  schema_sync: z
    .strictObject({
      enabled: z.boolean().default(true).describe('reports what the tables look like'),
      sync_on_startup: z.boolean().default(true).describe('also at the start'),
      interval_secs: seconds(3600).describe('seconds between two reports; 0 = only after changes and when the gateway asks'),
    })
    .prefault({}),
  probes: z
    .strictObject({
      dir: text
        .default(defaultProbesDir)
        .describe('folder of `svc-agent-alive`, `svc-agent-ready` and what `--reload` needs, made if only it is missing'),
      listen: listenAddress.optional().describe('`host:port` of `GET /live` and `GET /ready`; nothing listens if absent'),
    })
    .prefault({}),
  telemetry: z
    .strictObject({
      otlp_endpoint: text
        .optional()
        .describe('where traces go, by OTLP over HTTP; https, or http on this machine; nothing is sent if absent'),
      sample_ratio: z.number().min(0).max(1).default(1).describe('the share of requests that are traced; as in `server.toml`'),
      allow_insecure: z.boolean().default(false).describe('lets plain http leave this machine; `SVC_ALLOW_INSECURE=1` does too'),
    })
    .prefault({}),
  log: z
    .strictObject({
      level: z.enum(LOG_LEVELS).default('info').describe('`SVC_LOG_LEVEL` wins'),
      format: z.enum(LOG_FORMATS).default('text').describe('`SVC_LOG_FORMAT` wins'),
    })
    .prefault({}),
  databases: z.record(scopeName, z.record(scopeName, database)),
});

export type AgentToml = z.infer<typeof agentToml>;
