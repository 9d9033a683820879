import { z } from 'zod';
import { maxBundleBytes } from '../../domain/migration/bundle.js';
import { OPERATIONS } from '../../domain/policies.js';
import { OUTCOMES, STATUSES } from '../../domain/request/types.js';
import { MAX_SELECTOR_BYTES } from '../../domain/selectors.js';
import { RISK_LEVELS } from '../../domain/workflow-policy.js';
import { count, flag, instant, list, named, oneOf, pageFields, pair, text, userIdText, uuid } from '../http/fields.js';
import { maxNoteBytes } from './creation-body.js';

const status = z.enum(STATUSES).meta({ description: 'Where the request stands.' });
export const operation = oneOf(OPERATIONS, 'What kind of change it is. Of SQL the gateway finds out whether it reads or writes.');
export const selector = text('Who may approve: `user:ID`, `group:NAME` or `role:NAME`.', { maxLength: MAX_SELECTOR_BYTES });

/** Also of preflight. */
export const warnings = list(
  text('A warning, in a sentence.'),
  'Possible mistakes in an accepted call. Absent if there are none.',
);

export const related = z
  .array(z.enum(['requested', 'decided', 'can_decide']))
  .meta({ description: 'What you have to do with it: you asked for it, approved or rejected it, or could approve it now.' });

/** Also of preflight. */
export const appliedMigrations = named('AppliedMigrations', 'Which migrations of a bundle are applied already.', {
  seen_at: instant('When an agent looked.'),
  applied: list(text('A version.'), 'Those of its versions that were applied then.'),
});

const expiresAt = instant('When it expires if it is not approved; null when no approval is waited for.').nullable();

export const created = named(
  'CreatedRequest',
  'A request that was made, or the one that was made before with the same idempotency key.',
  {
    id: uuid('The id of the request.'),
    status,
    operation,
    approvers: list(selector, 'Who may approve the current step; empty unless it is pending.'),
    idempotent: flag('True if the request had been made before with the same idempotency key.'),
    expires_at: expiresAt,
    warnings: warnings.optional(),
  },
);

/** What lists and details both tell. */
export const basics = {
  id: uuid('The id of the request.'),
  requester: userIdText('The user who asked for it.'),
  ...pair,
  operation,
  detail: text('The SQL, or the migrations as a bundle, exactly as sent.', { maxLength: maxBundleBytes }),
  status,
  reason: text('Why the requester wants it.', { maxLength: maxNoteBytes }).nullable(),
  emergency: flag('True if it was made to run without approval (break-glass).'),
  created_at: instant('When it was made.'),
  updated_at: instant('When it last changed.'),
  expires_at: expiresAt,
};

const item = named('RequestItem', 'A request in a list.', {
  ...basics,
  risk_level: oneOf(RISK_LEVELS, 'How risky it was found to be when it was made; `unavailable` for migrations.'),
  related,
  total_steps: count('How many approval steps there are. Only while it is pending.').optional(),
  current_step: count('The step that is to be approved, from 0. Only while it is pending.').optional(),
  next_approvers: list(selector, 'All selectors of the current step. Only while it is pending.').optional(),
});

export const listed = named('RequestList', 'A page of requests, newest first.', {
  requests: list(item, 'The requests of this page.'),
  total: count('How many requests match, over all pages.'),
  total_is_estimate: flag('True if the total is an estimate, which it may be above 10,000.'),
  ...pageFields,
});

const execution = named('Execution', 'One run of a request by an agent.', {
  id: uuid('The id of the execution.'),
  status: z
    .enum(['claimed', 'running', 'completed', 'failed'])
    .meta({ description: 'How far it is. One whose agent was lost is `failed`.' }),
  agent_id: userIdText('The agent that ran it.'),
  fence: count('The number of the run; every dispatch raises it by 1.'),
  created_at: instant('When the agent claimed it.'),
  started_at: instant('When the agent claimed it.'),
  finished_at: instant('When it ended; null while it runs.').nullable(),
  error_message: text('What went wrong; null unless it failed.').nullable(),
  rows_affected: z.number().nullable().meta({ description: 'How many rows were changed or read; null where that is not known.' }),
  duration_ms: z.number().nullable().meta({ description: 'How long it took, in milliseconds.' }),
  outcome: oneOf(OUTCOMES, 'What the agent reported of the database; null while there is no report.').nullable(),
  applied_fence: count('For `already_applied`: the earlier run that had done the work.').nullable(),
  has_stored_result: flag('True if you can read its result.'),
});

export const executions = named('ExecutionList', 'The runs of a request, newest first.', {
  executions: list(execution, 'The runs.'),
});

const id = uuid('The id of the request.');

export const outcome = {
  approve: named('ApprovedRequest', 'The outcome of your approval.', {
    id,
    status,
    approved_by: userIdText('You.'),
    matched_selector: text('The selector that the approval counts for.', { maxLength: MAX_SELECTOR_BYTES }),
    step_completed: count('The same as `current_step`.'),
    current_step: count('The first step that is still open, from 0; `total_steps` when all are done.'),
    total_steps: count('How many steps there are.'),
  }),
  plain: named('MovedRequest', 'The request after the call.', { id, status }),
  cancel: named('CancelledRequest', 'The request after the call.', {
    id,
    status,
    cancel_requested: z
      .literal(true)
      .optional()
      .meta({ description: 'The statement still runs; its agent has been told to cancel it.' }),
  }),
};

const version = count('How often the request has changed.');
const deadline = instant('When its next clock ends; null if none runs.').nullable();

export const workflow = named('RequestWorkflow', 'A request as it is stored, and what its workflow in Temporal knows.', {
  workflow_id: text('The id of the workflow in Temporal.'),
  run_id: text("Temporal's id of the newest run; null if there is none or Temporal does not answer.").nullable(),
  stored: z.object({ version, status, deadline }).meta({ description: 'The request as it is stored.' }),
  live: z
    .object({ version, status: text('The status that the workflow knows.'), deadline })
    .nullable()
    .meta({ description: 'What the running workflow knows; null if none runs.' }),
  live_error: z
    .enum(['not_running', 'unavailable'])
    .nullable()
    .meta({ description: 'Why `live` is null: no workflow runs, or Temporal does not answer.' }),
  in_step: flag('True if both agree and no news is on its way.'),
  ui_url: text("The workflow's page in the Temporal UI; null unless `temporal.ui_url` is set.", { format: 'uri' }).nullable(),
});
