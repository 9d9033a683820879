import { z } from 'zod';
import { STATUSES } from '../../domain/request/types.js';

const status = z.enum(STATUSES);
const instant = z.string();
const text = z.string();
const maybe = z.string().nullable();
const count = z.number().int();
/** Also of preflight. */
export const warnings = z
  .array(text)
  .meta({ description: 'what may be a mistake though the call was accepted, in sentences; absent when there is nothing' });

const related = z
  .array(z.enum(['requested', 'decided', 'can_decide']))
  .meta({ description: 'what you have to do with it: you asked for it, approved or rejected it, or could approve it now' });

export const created = z.object({
  id: text,
  status,
  operation: text,
  approvers: z.array(text),
  idempotent: z.boolean(),
  expires_at: maybe,
  warnings: warnings.optional(),
});

const item = z.object({
  id: text,
  requester: text,
  database: text,
  environment: text,
  operation: text,
  detail: text,
  status,
  reason: maybe,
  emergency: z.boolean(),
  created_at: instant,
  updated_at: instant,
  expires_at: maybe,
  related,
  total_steps: count.optional(),
  current_step: count.optional(),
  next_approvers: z.array(text).optional(),
});

export const listed = z.object({
  requests: z.array(item),
  total: count,
  total_is_estimate: z.boolean().meta({ description: 'above 10,000 the total may be an estimate' }),
  limit: count,
  offset: count,
});

const step = z.object({
  index: count,
  mode: z.enum(['all', 'any']),
  satisfied: z.boolean(),
  approvers_required: z.array(z.object({ selector: text, min: count, current: count })),
  approvals: z.array(z.object({ user: text, action: z.enum(['approve', 'reject']), at: instant, comment: maybe })),
});

/** Of the policy as it was then; absent in requests from before these were kept. */
const version = { revision: maybe.optional(), digest: text.optional() };

const decisionTrace = z.object({
  version: count,
  classification: z.object({ resolved_operation: text }),
  sql_review: z.object({ policy_id: maybe, findings_count: count, parse_failed: z.boolean(), ...version }),
  risk: z.object({ level: text, factors: z.array(text), schema_status: text }),
  workflow: z.object({
    matched: z.object({ id: text, database: text, environment: text, step_count: count, ...version }).nullable(),
  }),
  decision: z.object({ outcome: text, reasons: z.array(text), auto_approve_threshold: maybe }),
});

const context = z.object({
  status: z.enum(['collecting', 'ready', 'partial', 'unavailable']),
  explain_enabled: z.boolean(),
  tables: z.array(z.unknown()).nullable(),
  sql_review: z.unknown().nullable(),
  risk: z.unknown().nullable(),
  explain: z.array(z.unknown()).nullable(),
  schema_snapshot_collected_at: maybe,
});

export const shown = z.object({
  id: text,
  requester: text,
  database: text,
  environment: text,
  operation: text,
  detail: text,
  status,
  queue_hint: z.enum(['no_agents', 'agents_outdated', 'agents_draining', 'agents_saturated', 'migration_queued']).nullable(),
  related,
  emergency: z.boolean(),
  no_result_store: z.boolean(),
  require_approval: z.boolean(),
  max_affected_rows: count.nullable(),
  search_path: z.array(text).nullable(),
  reason: maybe,
  share_with: z.array(text),
  metadata: z.unknown(),
  idempotency_key: maybe,
  created_at: instant,
  updated_at: instant,
  expires_at: maybe,
  approved_at: maybe,
  dispatch_by: maybe,
  resumable: z.boolean().meta({ description: 'whether its owner could resume it now' }),
  resolved_at: maybe,
  claimed_by: maybe,
  cancel_requested_at: maybe,
  cancelled_by: maybe,
  cancel_reason: maybe,
  lost_reason: maybe,
  approval_digest: text,
  approval_progress: z.object({ current_step: count, total_steps: count, steps: z.array(step) }).nullable(),
  context,
  decision_trace: decisionTrace,
});

export const executions = z.object({
  executions: z.array(
    z.object({
      id: text,
      status: z.enum(['claimed', 'running', 'completed', 'failed']),
      agent_id: text,
      fence: count,
      created_at: instant,
      started_at: instant,
      finished_at: maybe,
      error_message: maybe,
      rows_affected: z.number().nullable(),
      duration_ms: z.number().nullable(),
      outcome: maybe,
      applied_fence: count.nullable(),
      has_stored_result: z.boolean(),
    }),
  ),
});

export const outcome = {
  approve: z.object({
    id: text,
    status,
    approved_by: text,
    matched_selector: text,
    step_completed: count,
    current_step: count,
    total_steps: count,
  }),
  plain: z.object({ id: text, status }),
  cancel: z.object({ id: text, status, cancel_requested: z.literal(true).optional() }),
};

const seen = z.object({ version: count, status, deadline: maybe });

export const workflow = z.object({
  workflow_id: text,
  run_id: maybe,
  stored: seen,
  live: z.object({ version: count, status: text, deadline: maybe }).nullable(),
  live_error: z.enum(['not_running', 'unavailable']).nullable(),
  in_step: z.boolean(),
  ui_url: maybe,
});
