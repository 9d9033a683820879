import { z } from 'zod';
import { BUILTIN_REVIEW } from '../../config/shared.js';
import { CHANNELS, OPERATIONS } from '../../domain/policies.js';
import { count, flag, hex, instant, list, named, pair, policyPair, text } from '../http/fields.js';
import { operationName } from '../http/names.js';
import { selector } from '../requests/schemas.js';

const operation = z.enum(OPERATIONS).meta({ description: 'The operation.' });
const policyId = text('The id of the policy, made from what it is for.');
const item = { id: policyId, ...policyPair };
const version = {
  revision: text('The generation that last changed it, such as `r7`; null for a built-in policy.').nullable(),
  digest: hex(12, 'The beginning of the SHA-256 of its content.'),
};
const history = {
  ...version,
  created_at: instant('When it first appeared in the configuration.'),
  updated_at: instant('When it last changed.'),
};
const requirement = named('ApprovalRequirement', 'A selector, and how many users must approve for it.', {
  selector,
  min: count('How many different users must approve for it.'),
});
const requirements = (about: string) => list(requirement, about);
const mode = z.enum(['all', 'any']).meta({ description: 'Whether every selector must be fulfilled, or any one.' });
const source = z.enum(['config', 'builtin']).meta({ description: 'Whether `server.toml` has it, or it is built in.' });
const delivery = z.enum(['both', 'stream']).meta({ description: 'Whether results are stored too, or only streamed.' });
const actions = z.enum(['block', 'warn', 'off']);
const explain = flag('True if agents are asked for plans.');
const reasonNeeded = flag('True if a request needs a reason.');
const seconds = (about: string) => count(`${about}, in seconds.`);

/** Parsed after the permission check (PO-1). */
export const operationQuery = z.object({ operation: operationName.optional() });

const autoApprove = named('AutoApproval', 'What is approved automatically.', {
  mode: z
    .enum(['always', 'risk_based'])
    .meta({ description: 'Whether everything is approved automatically, or only up to a risk.' }),
  max_risk_level: z
    .enum(['low', 'medium', 'high'])
    .nullable()
    .meta({ description: 'The highest risk that passes; null for `always`.' }),
  allow_read_only: flag('True if every read counts as low risk.'),
  allow_safe_ddl: flag('True if safe DDL counts as low risk.'),
  max_estimated_rows: count('How many rows a write may change at most.'),
  max_snapshot_age_secs: seconds('How old the schema snapshot may be'),
  channels: list(z.enum(CHANNELS).meta({ description: 'A channel.' }), 'The channels that it holds for; empty = all.'),
}).nullable();
const passing = autoApprove.meta({ description: 'What is approved automatically; null = nothing.' });

const preview = {
  decision_preview: z
    .enum(['deny', 'auto_approved', 'may_auto_approve', 'needs_approval', 'break_glass_only'])
    .meta({ description: 'What would be decided.' }),
  reason_code: z
    .enum([
      'db_not_registered',
      'no_matching_workflow',
      'channel_not_allowed',
      'explicit_always',
      'risk_unknown_until_analyzed',
      'no_auto_approve',
      'emergency_required',
    ])
    .meta({ description: 'Why.' }),
};

const matchedBy = text('What the policy is for, such as `(*, production)`.');

const matchedWorkflow = named('MatchedWorkflow', 'The workflow policy that a request would meet.', {
  id: policyId,
  matched_by: matchedBy,
  steps: list(
    z.object({
      approvers: list(selector, 'Who may approve.'),
      mode,
      min: count('How many must approve for the first selector.'),
      requirements: requirements('Each selector, and how many must approve for it.'),
    }),
    'The approval steps, in order.',
  ),
  require_reason: reasonNeeded,
  explain,
});

const matchedExecution = named('MatchedExecutionPolicy', 'The limits that a run would have.', {
  statement_timeout_secs: seconds('The statement timeout'),
  max_statement_timeout_secs: seconds('The longest statement timeout'),
  migration_statement_timeout_secs: seconds('The statement timeout of migrations; null and 0 = none').nullable(),
  max_rows: count('How many rows a read returns; null = as many as the agent allows.').nullable(),
  max_executions: count('How often a request may run.'),
  execution_window_secs: seconds('How long after a run it may be resumed'),
  retry_on_failure: flag('True if a failed request may be resumed.'),
  matched_by: matchedBy,
  explicit: flag('True if `server.toml` has the policy, false for the built-in defaults.'),
});

const resolved = named('ResolvedOperation', 'What one operation would meet.', {
  operation,
  workflow_id: policyId.nullable(),
  matched_by: matchedBy.nullable(),
  auto_approve: passing,
  ...preview,
});

/** PO-1 to PO-3 in one object. */
export const resolution = named('PolicyResolution', 'The policies that a request would meet now.', {
  ...pair,
  registered: flag('True if the gateway knows the database and environment.'),
  operation: operation.optional(),
  workflow: matchedWorkflow.nullable().optional().meta({ description: 'The workflow policy; null if none matches.' }),
  auto_approve: passing.optional(),
  resolutions: list(resolved, 'One for each operation, unless one was asked for.').optional(),
  execution_policy: matchedExecution.optional(),
  sql_review_policy: z
    .object({ ...item, source })
    .optional()
    .meta({ description: 'The rules that SQL is reviewed by.' }),
  result_policy: z
    .object({ id: policyId.nullable(), retention_days: count('For how many days results are kept.'), delivery_mode: delivery })
    .optional()
    .meta({ description: 'Where results go.' }),
  decision_preview: preview.decision_preview.optional(),
  reason_code: preview.reason_code.optional(),
});

export const workflowItem = named('Workflow', 'A workflow policy: who approves what.', {
  ...item,
  operations: list(operation, 'What it is for.'),
  auto_approve: passing,
  steps: list(z.object({ approvers: requirements('Who may approve.'), mode }), 'The approval steps, in order.'),
  require_reason: reasonNeeded,
  allow_self_approve: flag('True if requesters may approve their own requests.'),
  allow_same_approver_across_steps: flag('True if one user may approve several steps.'),
  explain,
  pending_ttl_secs: seconds('How long a request waits for approval; null = `retention.approval_ttl_secs`').nullable(),
  approval_ttl_secs: seconds('How long an approval holds; null = `retention.approval_ttl_secs`').nullable(),
  statement_timeout_secs: seconds("The statement timeout; null = the execution policy's").nullable(),
  ...history,
});

export const executionPolicyItem = named('ExecutionPolicy', 'The limits of runs.', {
  ...item,
  max_executions: count('How often a request may run.'),
  execution_window_secs: seconds('How long after a run it may be resumed'),
  retry_on_failure: flag('True if a failed request may be resumed.'),
  statement_timeout_secs: seconds('The statement timeout'),
  max_statement_timeout_secs: seconds('The longest statement timeout'),
  max_rows: count('How many rows a read returns; null = as many as the agent allows.').nullable(),
  migration_lease_duration_secs: seconds('The lease of a migration; null = by its timeout').nullable(),
  migration_statement_timeout_secs: seconds('The statement timeout of migrations; null and 0 = none').nullable(),
  ...history,
});

export const resultPolicyItem = named('ResultPolicy', 'Where results go, and who reads them.', {
  ...item,
  retention_days: count('For how many days results are kept.'),
  delivery_mode: delivery,
  access: list(text('A selector, or `requester`.'), 'Who may read results besides the requester.'),
  ...history,
});

export const notificationPolicyItem = named('NotificationPolicy', 'Who is told of what.', {
  ...item,
  webhooks: list(text('The id of a webhook.'), 'The webhooks that are told.'),
  events: list(text('An event, `prefix.*` or `*`.'), 'What they are told of.'),
  slack_channels: list(text('A channel.'), 'The Slack channels; null = `slack.channel`.').nullable(),
  ...version,
});

export const reviewPolicyItem = named('SqlReviewPolicy', 'The rules that SQL is reviewed by.', {
  ...item,
  migrations: actions.meta({ description: 'What a blocking finding in a migration does.' }),
  rules: z
    .record(
      z.string().meta({ enum: Object.keys(BUILTIN_REVIEW.rules) }),
      actions.meta({ description: 'What a finding of the rule does.' }),
    )
    .meta({ description: 'What each rule does.' }),
  source,
  ...version,
});
