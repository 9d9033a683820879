import { z } from 'zod';
import { BUILTIN_REVIEW } from '../../config/shared.js';
import { RISK_LEVELS } from '../../domain/workflow-policy.js';
import { anything, boundedText, count, flag, list, named, oneOf, text } from '../http/fields.js';
import { operationName, pairName } from '../http/names.js';
import type { Call } from '../http/route.js';
import { appliedMigrations, selector, warnings } from '../requests/schemas.js';

const maxSqlBytes = 1_048_576;
const defaultExplainMs = 5000;

/** Any integer. Values above the configured limit are reduced to it, even where JSON numbers are no longer exact. */
const timeoutMs = z.number().min(0).refine(Number.isInteger, 'must be an integer').meta({ type: 'integer' });

export const preflightBody = named('PreflightCall', 'SQL to be analysed.', {
  database: pairName('The name of the database.'),
  environment: pairName('The environment of the database, such as `production`.'),
  sql: boundedText(maxSqlBytes, 'The SQL, or migrations as a bundle.'),
  operation: operationName.nullish().meta({ description: 'The operation that you expect; 400 if it is another.' }),
  include_explain: z.boolean().default(true).meta({ description: 'Whether to ask an agent for the plan.' }),
  explain_timeout_ms: timeoutMs.default(defaultExplainMs).meta({
    description:
      'How long to wait for the plan, in milliseconds. Values above `preflight.max_explain_timeout_ms` are treated as that.',
  }),
});

const level = z.enum(RISK_LEVELS).meta({ description: 'How risky it is.' });
const findingCodes = [...Object.keys(BUILTIN_REVIEW.rules), 'parse_failure', 'rejected'];
const operations = ['execute_select', 'execute_dml', 'migrate_up', 'migrate_down', 'unknown'] as const;

const classification = named('Classification', 'What the text is.', {
  statement_type: text('The verb of its first statement, such as `SELECT`; `MIGRATION` for migrations.'),
  operation: z.enum(operations).meta({ description: 'The operation that a request would have.' }),
  mutating: flag('True unless it only reads.'),
  ddl: flag('True if it changes the schema and no data.'),
  requires_ddl_permission: flag('True if a request needs `request.ddl`.'),
  multi_statement: flag('True if there are several statements.'),
  statement_count: count('How many statements there are.'),
});

const finding = named('ReviewFinding', 'What a rule of the SQL review found.', {
  code: oneOf(
    findingCodes,
    'The rule. `parse_failure`: it does not parse; `rejected`: it is refused or too long, or no workflow policy takes it.',
  ),
  action: z.enum(['block', 'warn']).meta({ description: 'What the policy does about it.' }),
  message: text('What was found, in words.'),
  statement_index: count('The statement, from 0.'),
  version: text('The migration that it is in.').optional(),
  line: count('Of a migration: where the statement begins in its SQL, from 1.').optional(),
});

const policy = named('PreflightPolicy', 'What the policies would do with a request for this text.', {
  sql_valid: flag('True unless the review blocks it.'),
  caller_can_submit: flag('True if you hold every permission that the request needs.'),
  would_auto_approve: flag('True if it would be approved automatically.'),
  requires_approval: flag('True if it would wait for approval.'),
  approvers: list(
    z.object({ selector, min: count('How many different users must approve for it.'), step: count('The step, from 0.') }),
    'Who approves, step by step.',
  ),
  break_glass_allowed: flag('True if you could run it without approval, as an emergency.'),
  workflow_id: text('The workflow policy that matches; null if none does.').nullable(),
  require_reason: flag('True if the request needs a reason.'),
  may_require_approval: flag('True if the workflow policy has approval steps.'),
});

const impact = named('PreflightImpact', 'The plan that the database makes for it.', {
  status: z
    .enum(['skipped', 'disabled_by_policy', 'not_available', 'completed', 'error', 'timeout'])
    .meta({ description: 'Whether there is a plan, or why not.' }),
  explain_plan: anything('The plan, as the database gave it. Only when `completed`.').optional(),
  estimated_rows: z.number().nullable().optional().meta({ description: 'How many rows the planner expects.' }),
  estimated_cost: z.number().nullable().optional().meta({ description: "The planner's total cost." }),
  index_used: z.boolean().nullable().optional().meta({ description: 'Whether the plan uses an index.' }),
  error: text('Why there is no plan: names and types at most, never data.').optional(),
  unknown_name: flag('True if the database knows no such table or column.').optional(),
});

/** `explain_plan` is added later, as text. */
export const preflightResponse = named('Preflight', 'What a request for this SQL would lead to.', {
  status: z.enum(['requestable', 'blocked', 'warning']).meta({ description: 'The verdict.' }),
  risk: level,
  requires_ddl_permission: flag('True if a request needs `request.ddl`.'),
  classification,
  review: z
    .object({ findings: list(finding, 'The findings, in order.'), blocked: flag('True if one of them blocks it.') })
    .meta({ description: 'The outcome of the SQL review.' }),
  risk_assessment: z
    .object({
      level,
      factors: list(z.looseObject({ name: text('The name of the factor.') }), 'What the risk comes from.'),
    })
    .meta({ description: 'How risky it is, and why.' }),
  policy,
  migrations: appliedMigrations
    .nullable()
    .optional()
    .meta({ description: 'Of a bundle of migrations: which of them are applied already; null where that is not known.' }),
  impact,
  fix_hints: list(text('A sentence.'), 'What to do about the findings and the risk.'),
  retryable: flag('True if changed SQL may succeed.'),
  next_actions: list(text('A sentence.'), 'What to do next; empty if it can be requested as it is.'),
  warnings: warnings.optional(),
});

export type PreflightCall = Call<undefined, undefined, z.output<typeof preflightBody>>;
