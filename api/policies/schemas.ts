import { z } from 'zod';
import { CHANNELS, OPERATIONS } from '../../domain/policies.js';
import { operationName } from '../http/names.js';

const text = z.string();
const flag = z.boolean();
const count = z.number().int();
const maybe = count.nullable();
const operation = z.enum(OPERATIONS);
const pair = { database: text, environment: text };
const item = { id: text, ...pair };
const version = {
  revision: text.nullable().meta({ description: 'the generation that last changed it, such as r7; null for a built-in policy' }),
  digest: text.meta({ description: 'the first 12 hexadecimal digits of the SHA-256 of its content' }),
};
const history = { ...version, created_at: text, updated_at: text };
const entries = z.array(z.object({ selector: text, min: count }));
const mode = z.enum(['all', 'any']);
const source = z.enum(['config', 'builtin']);
const delivery = z.enum(['both', 'stream']);
const actions = z.enum(['block', 'warn', 'off']);

/** Parsed after the permission check (PO-1). */
export const operationQuery = z.object({ operation: operationName.optional() });

const autoApprove = z
  .object({
    mode: z.enum(['always', 'risk_based']),
    max_risk_level: z.enum(['low', 'medium', 'high']).nullable(),
    allow_read_only: flag,
    allow_safe_ddl: flag,
    max_estimated_rows: count,
    max_snapshot_age_secs: count,
    channels: z.array(z.enum(CHANNELS)).meta({ description: 'empty = all' }),
  })
  .nullable();

const preview = {
  decision_preview: z.enum(['deny', 'auto_approved', 'may_auto_approve', 'needs_approval', 'break_glass_only']),
  reason_code: z.enum([
    'db_not_registered',
    'no_matching_workflow',
    'explicit_always',
    'risk_unknown_until_analyzed',
    'no_auto_approve',
    'emergency_required',
  ]),
};

const matchedWorkflow = z.object({
  id: text,
  matched_by: text,
  steps: z.array(z.object({ approvers: z.array(text), mode, min: count, requirements: entries })),
  require_reason: flag,
  explain: flag,
});

/** PO-1 to PO-3 in one object. */
export const resolution = z.object({
  ...pair,
  registered: flag,
  operation: operation.optional(),
  workflow: matchedWorkflow.nullable().optional(),
  auto_approve: autoApprove.optional(),
  resolutions: z
    .array(
      z.object({ operation, workflow_id: text.nullable(), matched_by: text.nullable(), auto_approve: autoApprove, ...preview }),
    )
    .optional(),
  execution_policy: z
    .object({
      statement_timeout_secs: count,
      max_statement_timeout_secs: count,
      migration_statement_timeout_secs: maybe,
      max_rows: maybe,
      max_executions: count,
      execution_window_secs: count,
      retry_on_failure: flag,
      matched_by: text,
      explicit: flag,
    })
    .optional(),
  sql_review_policy: z.object({ ...item, source }).optional(),
  result_policy: z.object({ id: text.nullable(), retention_days: count, delivery_mode: delivery }).optional(),
  decision_preview: preview.decision_preview.optional(),
  reason_code: preview.reason_code.optional(),
});

export const workflowItem = z.object({
  ...item,
  operations: z.array(operation),
  auto_approve: autoApprove,
  steps: z.array(z.object({ approvers: entries, mode })),
  require_reason: flag,
  allow_self_approve: flag,
  allow_same_approver_across_steps: flag,
  explain: flag,
  pending_ttl_secs: maybe,
  approval_ttl_secs: maybe,
  statement_timeout_secs: maybe,
  ...history,
});

export const executionPolicyItem = z.object({
  ...item,
  max_executions: count,
  execution_window_secs: count,
  retry_on_failure: flag,
  statement_timeout_secs: count,
  max_statement_timeout_secs: count,
  max_rows: maybe,
  migration_lease_duration_secs: maybe,
  migration_statement_timeout_secs: maybe,
  ...history,
});

export const resultPolicyItem = z.object({
  ...item,
  retention_days: count,
  delivery_mode: delivery,
  access: z.array(text),
  ...history,
});

export const notificationPolicyItem = z.object({
  ...item,
  webhooks: z.array(text),
  events: z.array(text),
  slack_channels: z.array(text).nullable(),
  ...version,
});

export const reviewPolicyItem = z.object({
  ...item,
  migrations: actions,
  rules: z.record(z.string(), actions),
  source,
  ...version,
});
