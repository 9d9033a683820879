import { z } from 'zod';

const offeredJob = z.object({
  id: z.string(),
  operation: z.string(),
  environment: z.string(),
  database: z.string(),
  fence: z.int().min(1),
});

const dryRunJob = z.object({
  id: z.string(),
  request_id: z.string(),
  database: z.string(),
  environment: z.string(),
  sql: z.string(),
});

const preflightJob = z.object({
  id: z.string(),
  database: z.string(),
  environment: z.string(),
  sql: z.string(),
  claim_token: z.string(),
  timeout_ms: z.int().min(1),
  expires_at: z.string(),
  explain_token: z.string().optional(),
});

/** The answer to a claim (agent.md section 4). */
export const claimAnswer = z.object({
  execution_id: z.guid(),
  request_id: z.string(),
  execution_token: z.string(),
  operation: z.string(),
  database: z.string(),
  environment: z.string(),
  detail: z.string(),
  statement_timeout_secs: z.int().min(0).optional(),
  max_rows: z.int().min(0).nullable(),
  /** Absent from older gateways. */
  lease_secs: z.int().min(1).optional(),
  execution_plan: z.unknown(),
  execution_plan_json: z.unknown(),
  fence: z.int().min(1),
  unresolved_fences: z.array(z.int()),
  /** `agent_id`, `claimed_at` and `marker_form` are absent from older gateways. */
  unresolved_executions: z
    .array(
      z.object({
        fence: z.int(),
        execution_id: z.guid(),
        agent_id: z.string().optional(),
        claimed_at: z.iso.datetime().optional(),
        marker_form: z.int().optional(),
      }),
    )
    .optional(),
  marker: z.enum(['required', 'none']),
  approval_digest: z.string(),
  policy_revision: z.string(),
  max_result_bytes: z.int().min(0),
  max_affected_rows: z.int().min(0).nullish(),
  search_path: z.array(z.string()).nullish(),
  server_time: z.iso.datetime().optional(),
});

/** The poll's answer, as far as this agent uses it (agent.md section 3). */
export const pollAnswer = z.object({
  jobs: z.array(offeredJob).max(20),
  /** What the poll claimed for this process; absent from older gateways. */
  claims: z.array(claimAnswer).max(1000).default([]),
  dry_run_jobs: z.array(dryRunJob).max(10),
  preflight_jobs: z.array(preflightJob).max(10),
  /** Executions to cancel; absent from older gateways. */
  cancelled: z.array(z.string()).max(1000).default([]),
  /** Databases whose snapshot the gateway wants again; absent from older gateways. */
  schema_sync: z
    .array(z.object({ database: z.string(), environment: z.string() }))
    .max(1000)
    .default([]),
  /** Absent from a gateway without token scopes. */
  refused_scopes: z
    .array(z.object({ database: z.string(), environment: z.string() }))
    .max(1000)
    .default([]),
  upgrade_required: z.boolean(),
  agent_id: z.string(),
  server_time: z.string(),
});

/** The answer to a dry-run claim (agent.md section 10). */
export const dryRunClaimAnswer = z.object({ claim_token: z.string(), explain_token: z.string().optional() });

/** The answer to a heartbeat (agent.md section 5). */
export const heartbeatAnswer = z.object({ cancelled: z.boolean() });

/** The answer to a submitted result (agent.md section 6). */
export const resultAnswer = z.object({ status: z.string() });

/** The answer to `GET /api/public-key` (ET-17). */
export const publicKeyAnswer = z.object({
  keys: z.array(z.object({ key_id: z.string(), public_key: z.string() })),
});

export type OfferedJob = z.infer<typeof offeredJob>;
export type DryRunJob = z.infer<typeof dryRunJob>;
export type PreflightJob = z.infer<typeof preflightJob>;
export type PollAnswer = z.infer<typeof pollAnswer>;
export type ClaimAnswer = z.infer<typeof claimAnswer>;
