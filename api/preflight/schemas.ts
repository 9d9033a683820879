import { z } from 'zod';
import { operationName, pairName } from '../http/names.js';
import type { Call } from '../http/route.js';
import { warnings } from '../requests/schemas.js';

const maxSqlBytes = 1_048_576;

/** Any integer. Values above the configured limit are reduced to it, even where JSON numbers are no longer exact. */
const timeoutMs = z.number().min(0).refine(Number.isInteger, 'must be an integer').meta({ type: 'integer' });

export const preflightBody = z.object({
  database: pairName,
  environment: pairName,
  sql: z.string().refine((text) => Buffer.byteLength(text) <= maxSqlBytes, `must be at most ${maxSqlBytes} bytes`),
  operation: operationName.nullish(),
  include_explain: z.boolean().default(true),
  explain_timeout_ms: timeoutMs.default(5000),
});

const text = z.string();
const count = z.number().int();
const level = z.enum(['low', 'medium', 'high', 'critical', 'unknown', 'unavailable']);

/** `explain_plan` is added later, as text. */
export const preflightResponse = z.object({
  status: z.enum(['requestable', 'blocked', 'warning']),
  risk: level,
  requires_ddl_permission: z.boolean(),
  classification: z.object({
    statement_type: text,
    operation: z.enum(['execute_select', 'execute_dml', 'migrate_up', 'migrate_down', 'unknown']),
    mutating: z.boolean(),
    ddl: z.boolean(),
    requires_ddl_permission: z.boolean(),
    multi_statement: z.boolean(),
    statement_count: count,
  }),
  review: z.object({
    findings: z.array(
      z.object({
        code: text,
        action: z.enum(['block', 'warn']),
        message: text,
        statement_index: count,
        version: text.optional(),
        line: count.optional().meta({ description: 'of a migration: where the statement begins in its sql, from 1' }),
      }),
    ),
    blocked: z.boolean(),
  }),
  risk_assessment: z.object({ level, factors: z.array(z.looseObject({ name: text })) }),
  policy: z.object({
    sql_valid: z.boolean(),
    caller_can_submit: z.boolean(),
    would_auto_approve: z.boolean(),
    requires_approval: z.boolean(),
    approvers: z.array(z.object({ selector: text, min: count, step: count })),
    break_glass_allowed: z.boolean(),
    workflow_id: text.nullable(),
    require_reason: z.boolean(),
    may_require_approval: z.boolean(),
  }),
  migrations: z
    .object({ seen_at: text, applied: z.array(text) })
    .nullable()
    .optional()
    .meta({ description: 'of a migration: which of its versions an agent saw applied, and when; null where that is not known' }),
  impact: z.object({
    status: z.enum(['skipped', 'disabled_by_policy', 'not_available', 'completed', 'error', 'timeout']),
    explain_plan: z.unknown().optional(),
    estimated_rows: z.number().nullable().optional(),
    estimated_cost: z.number().nullable().optional(),
    index_used: z.boolean().nullable().optional(),
    error: text.optional().meta({ description: 'why there is no plan; names and types at most, never data' }),
    unknown_name: z.boolean().optional().meta({ description: 'the database knows no such table or column' }),
  }),
  fix_hints: z.array(text),
  retryable: z.boolean(),
  next_actions: z.array(text),
  warnings: warnings.optional(),
});

export type PreflightCall = Call<undefined, undefined, z.output<typeof preflightBody>>;
