import { z } from 'zod';
import { OPERATIONS } from '../../domain/policies.js';
import { capitalised } from '../../domain/request/context.js';
import { MAX_SELECTOR_BYTES } from '../../domain/selectors.js';
import { AUTO_APPROVAL_REASONS, RISK_LEVELS } from '../../domain/workflow-policy.js';
import { anything, count, flag, hex, instant, list, named, oneOf, policyPair, stored, text, userIdText } from '../http/fields.js';
import { maxKeyBytes, maxNoteBytes } from './creation-body.js';
import { appliedMigrations, basics, related, selector } from './schemas.js';

const approval = named('ApprovalDecision', 'What one user decided.', {
  user: userIdText('Who decided.'),
  action: z.enum(['approve', 'reject']).meta({ description: 'What was decided.' }),
  selector: text('The approver of the step that it counts for; `requester` where the requester rejected.', {
    maxLength: MAX_SELECTOR_BYTES,
  }),
  at: instant('When.'),
  comment: text('What the user had to say.', { maxLength: maxNoteBytes }).nullable(),
});

const step = named('ApprovalStep', 'One step of the approval.', {
  index: count('Its place, from 0.'),
  mode: z.enum(['all', 'any']).meta({ description: 'Whether every selector must be fulfilled, or any one.' }),
  satisfied: flag('True once the step is done.'),
  approvers_required: list(
    z.object({
      selector,
      min: count('How many different users must approve for it.'),
      current: count('How many have approved for it.'),
    }),
    'Who must approve.',
  ),
  approvals: list(approval, 'The decisions, oldest first.'),
});

const progress = named('ApprovalProgress', 'The steps of the approval.', {
  current_step: count('The first step that is still open, from 0; `total_steps` when all are done.'),
  total_steps: count('How many steps there are.'),
  steps: list(step, 'The steps, in order.'),
});

/** Of the policy as it was then; absent in requests from before these were kept. */
const version = {
  revision: text('The configuration generation that had last changed the policy, such as `r7`; null for a built-in one.')
    .nullable()
    .optional(),
  digest: hex(12, "The beginning of the SHA-256 of the policy's content.").optional(),
};

const policyId = text('The id of the SQL review policy; null if none was asked.').nullable();

const decisionTrace = named(
  'DecisionTrace',
  'Why the request needs approval or not. Written when the request is made, and never changed.',
  {
    version: count('The form of this object.'),
    classification: z
      .object({ resolved_operation: oneOf(OPERATIONS, 'The operation that the SQL was found to be.') })
      .meta({ description: 'What the SQL is.' }),
    sql_review: z
      .object({
        policy_id: policyId,
        findings_count: count('How many findings the review had.'),
        parse_failed: flag('True if the text was not parsed.'),
        ...version,
      })
      .meta({ description: 'The outcome of the SQL review.' }),
    risk: z
      .object({
        level: oneOf(RISK_LEVELS, 'The risk.'),
        factors: list(text('The name of a risk factor.'), 'What the risk comes from.'),
        schema_status: oneOf(['ready', 'stale', 'not_synced', 'unavailable'], 'How much was known of the tables.'),
      })
      .meta({ description: 'How risky it is.' }),
    workflow: z
      .object({
        matched: z
          .object({
            id: text('The id of the workflow policy.'),
            ...policyPair,
            step_count: count('How many steps it has.'),
            ...version,
          })
          .nullable()
          .meta({ description: 'The workflow policy that matched. Null if none did.' }),
      })
      .meta({ description: 'Which policy applied.' }),
    decision: z
      .object({
        outcome: oneOf(['auto_approved', 'needs_approval'], 'What was decided.'),
        reasons: list(oneOf(AUTO_APPROVAL_REASONS, 'A reason.'), 'Why.'),
        auto_approve_threshold: oneOf(['low', 'medium', 'high'], 'The highest risk that is approved automatically.').nullable(),
      })
      .meta({ description: 'What was decided, and why.' }),
  },
);

const finding = z.looseObject({
  rule: text('The rule in camel case, such as `NoWhereDelete`.'),
  level: oneOf(['Block', 'Warn'], 'What the policy does about it.'),
  message: text('What was found, in words.'),
  statement_index: count('The statement, from 0.'),
  version: text('The migration that it is in.').optional(),
});

const review = z
  .looseObject({ findings: list(finding, 'The findings, in order.'), blocked: flag('True if one of them blocks it.') })
  .nullable();

const risk = z
  .looseObject({
    level: oneOf(RISK_LEVELS.map(capitalised), 'The risk.'),
    factors: list(z.looseObject({ name: text('The name of the factor.') }), 'What it comes from.'),
  })
  .nullable();

const plan = z.looseObject({
  sql: text('The statement.'),
  plan: anything('The plan, as the database gave it.').optional(),
  error: text('Why there is none.').optional(),
  hint: text('What to do about that.').nullable().optional(),
});

const context = named('RequestContext', 'What approvers are shown beside the text.', {
  status: z
    .enum(['collecting', 'ready', 'partial', 'unavailable'])
    .meta({ description: 'Whether all of it is there. `partial`: a plan is missing.' }),
  explain_enabled: flag('True if plans were asked for.'),
  tables: z
    .array(z.unknown())
    .nullable()
    .meta({ description: 'The tables that the text names, as the schema snapshot has them, or their names.' }),
  sql_review: stored(review, 'What the review found; null if there was none.'),
  risk: stored(risk, 'How risky it is; null if that was not judged.'),
  explain: z
    .array(stored(plan, 'A statement and its plan.'))
    .nullable()
    .meta({ description: 'The plan of each statement, or why there is none.' }),
  schema_snapshot_collected_at: instant('When the schema snapshot was made.').nullable(),
});

export const shown = named('Request', 'A request with all its details.', {
  ...basics,
  queue_hint: z
    .enum(['no_agents', 'agents_outdated', 'agents_draining', 'agents_saturated', 'migration_queued'])
    .nullable()
    .meta({ description: 'Why no agent runs it; null unless it is dispatched and something prevents it.' }),
  related,
  no_result_store: flag('True if its result is only streamed, not stored.'),
  require_approval: flag('True if the requester asked for approval, whatever the risk.'),
  max_affected_rows: count('How many rows it may change, if it was approved by its risk; else null.').nullable(),
  search_path: list(
    text('The name of a schema.'),
    'Where names of tables without a schema are looked up; null where that is not known.',
  ).nullable(),
  share_with: list(text('A selector, a user id or `requester`.'), 'Who else may see it and its results, as sent.'),
  metadata: anything('Any JSON that came with it, as sent.'),
  idempotency_key: text('The key that it was made with; null for all but the requester.', { maxLength: maxKeyBytes }).nullable(),
  approved_at: instant('When the last step was approved, or when it was approved automatically.').nullable(),
  dispatch_by: instant('The time until which it can be resumed.').nullable(),
  fence: count('The number of its last run; every dispatch raises it by 1.'),
  resumable: flag('True if its requester could resume it now.'),
  resolved_at: instant('When it last ended, or was approved.').nullable(),
  claimed_by: userIdText('The agent that runs it; null unless it is running.').nullable(),
  cancel_requested_at: instant('When a cancel was asked for.').nullable(),
  cancelled_by: text('Who cancelled it.').nullable(),
  cancel_reason: text('Why it was cancelled.', { maxLength: maxNoteBytes }).nullable(),
  lost_reason: text('Why its last run is considered lost.').nullable(),
  approval_digest: hex(64, 'The SHA-256 of what is approved: approvals hold for this and nothing else.'),
  approval_progress: progress.nullable().meta({ description: 'The steps; null when an emergency matched no workflow policy.' }),
  migrations: appliedMigrations.nullable().meta({
    description:
      'Of a pending or approved `migrate_up`: which of its migrations are applied already; null for others, and where that is not known.',
  }),
  context,
  decision_trace: decisionTrace,
});
