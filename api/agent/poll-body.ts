import { z } from 'zod';
import { OPERATIONS } from '../../domain/policies.js';
import { isName } from '../../domain/selectors.js';

const name = z.string().refine(isName, 'must be a name of 1 to 63 characters: a-z, then a-z, 0-9, _ or -');
const count = z.number().int().min(0);
/** The range of the agent record's integer columns. */
const load = count.max(2_147_483_647);
const aliases = new Map([
  ['execute_query', 'execute_select'],
  ['execute', 'execute_select'],
  ['query', 'execute_select'],
]);
const known: ReadonlySet<string> = new Set(OPERATIONS);
const maxScopes = 1000;

/** Ignores unknown names. A list with only unknown names must match nothing, so it becomes a name that no request has. */
const operations = z.array(z.string()).transform((names) => {
  const understood = [...new Set(names.map((text) => aliases.get(text) ?? text).filter((text) => known.has(text)))];
  return names.length > 0 && understood.length === 0 ? ['none'] : understood;
});

const scopes = z
  .array(z.object({ database: name, environment: name, marker: z.boolean().default(false) }))
  .max(maxScopes)
  .transform((list) => [...new Map(list.map((scope) => [`${scope.database}/${scope.environment}`, scope])).values()]);

/** The body of `POST /api/agent/poll` (agent.md section 3). */
export const pollBody = z
  .object({
    capabilities: z.object({
      scopes,
      operations: operations.default([]),
      features: z.array(z.string().max(64)).max(32).default([]),
    }),
    limit: count.default(10),
    explain_limit: count.default(10),
    wait_ms: count.default(0),
    claim: z
      .boolean()
      .default(false)
      .meta({ description: 'claim what is found at once, instead of offering it; needs `instance_id`' }),
    holding: z.array(z.guid()).max(1000).default([]).meta({ description: 'executions that this instance runs' }),
    status: z
      .object({
        in_flight: load,
        max_concurrent: load,
        in_flight_preflight: load.default(0),
        draining: z.boolean().default(false),
        uptime_secs: count.default(0),
        active_jobs: z
          .array(z.object({ request_id: z.string().max(64), operation: z.string().max(64), elapsed_secs: z.number().optional() }))
          .default([])
          .transform((jobs) => jobs.slice(0, 100)),
      })
      .nullish(),
    agent_version: z.string().max(256).nullish(),
    instance_id: z.string().max(256).nullish(),
  })
  .refine(({ claim, instance_id: instanceId }) => !claim || instanceId != null, {
    path: ['instance_id'],
    message: 'is required with claim',
  });

const text = z.string();

const job = z.object({
  id: z.string(),
  created_by: z.string(),
  operation: z.string(),
  environment: z.string(),
  database: z.string(),
  detail: z.string(),
  fence: z.number().int(),
});

export const claimAnswer = z.object({
  execution_id: text,
  request_id: text,
  operation: text,
  database: text,
  environment: text,
  detail: text,
  execution_token: text,
  statement_timeout_secs: z.number().int(),
  max_rows: z.number().int().nullable(),
  lease_expires_at: text,
  lease_secs: z.number().int(),
  execution_plan: z.null(),
  execution_plan_json: z.null(),
  fence: z.number().int(),
  unresolved_fences: z.array(z.number().int()),
  unresolved_executions: z.array(z.object({ fence: z.number().int(), execution_id: text })),
  marker: z.enum(['required', 'none']),
  policy_revision: text,
  approval_digest: text,
  max_result_bytes: z.number().int(),
  max_affected_rows: z.number().int().nullable(),
  search_path: z.array(text).nullable(),
  server_time: text,
});

export const pollAnswer = z.object({
  jobs: z.array(job),
  claims: z
    .array(claimAnswer)
    .meta({ description: 'with `claim`: what this poll claimed, and what polls of this instance claimed and `holding` lacks' }),
  dry_run_jobs: z.array(
    z.object({ id: z.string(), request_id: z.string(), database: z.string(), environment: z.string(), sql: z.string() }),
  ),
  preflight_jobs: z.array(
    z.object({
      id: z.string(),
      database: z.string(),
      environment: z.string(),
      sql: z.string(),
      claim_token: z.string(),
      timeout_ms: z.number().int(),
      expires_at: z.string(),
      explain_token: z.string().meta({ description: 'signed: this agent may plan this statement within 60 s' }),
    }),
  ),
  cancelled: z
    .array(z.string())
    .meta({ description: 'those of `holding` whose cancel was asked for and that no poll of this instance was told of before' }),
  schema_sync: z.array(z.object({ database: z.string(), environment: z.string() })),
  refused_scopes: z
    .array(z.object({ database: z.string(), environment: z.string() }))
    .meta({ description: 'pairs of this poll that the token may not serve; they were not recorded' }),
  server_version: z.string(),
  min_agent_version: z.string(),
  upgrade_required: z.boolean(),
  agent_id: z.string(),
  server_time: z.string(),
});
