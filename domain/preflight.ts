import type { ReviewRule, WorkflowPolicy } from './policies.js';
import type { Finding, RiskFactor } from './request/context.js';
import type { AutoApproval, RiskLevel } from './workflow-policy.js';

export type PreflightStatus = 'requestable' | 'blocked' | 'warning';

/** Everything that the verdict on an accepted text depends on. The caller's rights are those of RQ-21. */
export interface PreflightFacts {
  classified: {
    operation: 'execute_select' | 'execute_dml' | 'migrate_up' | 'migrate_down';
    statementType: string;
    write: boolean;
    ddl: boolean;
    statements: number;
  };
  workflow: WorkflowPolicy;
  review: { findings: readonly Finding[]; blocked: boolean };
  risk: { level: RiskLevel; factors: RiskFactor[] };
  approval: AutoApproval;
  canSubmit: boolean;
  breakGlassAllowed: boolean;
}

export type PreflightAnswer = ReturnType<typeof preflightAnswer> | ReturnType<typeof blockedAnswer>;

/** The answer for an accepted text, without `impact` (preflight.md 1.1). */
export function preflightAnswer(facts: PreflightFacts) {
  const { classified, workflow, review, risk } = facts;
  const status = statusOf(facts);
  return {
    status,
    risk: risk.level,
    requires_ddl_permission: classified.ddl,
    classification: {
      statement_type: classified.statementType,
      operation: classified.operation,
      mutating: classified.operation !== 'execute_select',
      ddl: classified.ddl && !classified.write,
      requires_ddl_permission: classified.ddl,
      multi_statement: classified.statements > 1,
      statement_count: classified.statements,
    },
    review: {
      findings: review.findings.map(({ statementIndex, ...finding }) => ({ ...finding, statement_index: statementIndex })),
      blocked: review.blocked,
    },
    risk_assessment: { level: risk.level, factors: risk.factors },
    policy: {
      sql_valid: !review.blocked,
      caller_can_submit: facts.canSubmit,
      would_auto_approve: facts.approval.outcome === 'auto_approved',
      requires_approval: facts.approval.outcome !== 'auto_approved',
      approvers: workflow.steps.flatMap(({ approvers }, step) => approvers.map(({ selector, min }) => ({ selector, min, step }))),
      break_glass_allowed: facts.breakGlassAllowed,
      workflow_id: workflow.id,
      require_reason: workflow.requireReason,
      may_require_approval: workflow.steps.length > 0,
    },
    fix_hints: fixHints(review.findings, risk),
    retryable: status !== 'requestable',
    next_actions: nextActions(status, facts),
  };
}

/** PF-20: for a text that is refused, or that matches no workflow policy. Only `reason` is disclosed. */
export function blockedAnswer(code: 'parse_failure' | 'rejected', reason: string, hint: string | null) {
  return {
    status: 'blocked' as const,
    risk: 'unknown' as const,
    requires_ddl_permission: false,
    classification: {
      statement_type: 'unknown',
      operation: 'unknown',
      mutating: false,
      ddl: false,
      requires_ddl_permission: false,
      multi_statement: false,
      statement_count: 0,
    },
    review: { findings: [{ code, action: 'block' as const, message: reason, statement_index: 0 }], blocked: true },
    risk_assessment: { level: 'unknown' as const, factors: [] },
    policy: {
      sql_valid: false,
      caller_can_submit: false,
      would_auto_approve: false,
      requires_approval: false,
      approvers: [],
      break_glass_allowed: false,
      workflow_id: null,
      require_reason: false,
      may_require_approval: false,
    },
    fix_hints: hint === null ? [reason] : [reason, hint],
    retryable: false,
    next_actions: [],
  };
}

/** PF-15: the first status that applies. */
function statusOf({ review, canSubmit, workflow, approval }: PreflightFacts): PreflightStatus {
  if (review.blocked || !canSubmit) return 'blocked';
  const aboveRisk = workflow.autoApprove?.mode === 'risk_based' && approval.outcome !== 'auto_approved';
  return aboveRisk || review.findings.some(({ action }) => action === 'warn') ? 'warning' : 'requestable';
}

function fixHints(findings: readonly Finding[], risk: PreflightFacts['risk']): string[] {
  const codes = [...new Set(findings.map(({ code }) => code))];
  const unanalysed = risk.factors.find(({ name }) => name === 'never_analysed');
  const others = risk.factors.length > (unanalysed === undefined ? 0 : 1);
  return [
    ...codes.map((code) => hintByCode[code]),
    ...(unanalysed === undefined ? [] : [analyseHint(unanalysed.tables as string[])]),
    ...(unanalysed !== undefined && !others ? [] : (hintByRisk[risk.level] ?? [])),
  ];
}

const analyseHint = (tables: readonly string[]) =>
  `The size of ${tables.join(', ')} is not known: run ANALYZE on the database (MySQL: ANALYZE TABLE), then wait for the agent to read the schema again.`;

const hintByCode: Readonly<Record<ReviewRule, string>> = {
  no_where_delete: 'Give the DELETE a WHERE that selects rows by columns of its table.',
  no_where_update: 'Give the UPDATE a WHERE that selects rows by columns of its table.',
  drop_table: 'Make sure that nothing reads the table any more, and rename it before you drop it.',
  drop_column: 'Make sure that nothing reads the column any more.',
  drop_index: 'Make sure that no query needs the index.',
  drop_view: 'Make sure that nothing reads the view any more.',
  drop_sequence: 'Make sure that no default uses the sequence.',
  create_sequence: 'Use an identity column instead of a sequence.',
  not_null_without_default: 'Give the new column a default, or allow NULL first.',
  create_index_not_concurrently: 'Build the index with CONCURRENTLY.',
  alter_column_type: 'Add a column of the new type and copy the values in batches.',
  truncate: 'Use a DELETE with a WHERE.',
  large_in_list: 'Put the values into a table and join it, or ask in smaller parts.',
  mixed_ddl_dml: 'Ask for the change of tables and the change of rows separately.',
};

const hintByRisk: Readonly<Partial<Record<RiskLevel, string[]>>> = {
  high: ['Split the change, or narrow what it touches, to lower its risk.'],
  critical: ['Split the change, or narrow what it touches, to lower its risk.'],
  unknown: ['The risk is unknown: it needs a recent schema snapshot that has the tables.'],
};

function nextActions(status: PreflightStatus, { review, canSubmit, breakGlassAllowed }: PreflightFacts): string[] {
  if (status === 'requestable') return [];
  if (status === 'warning') return ['Look at the warnings before you submit.'];
  return [
    ...(review.blocked ? ['Change the SQL so that no rule blocks it.'] : []),
    ...(canSubmit ? [] : ['Ask for a role that may submit this on the database and environment.']),
    ...(breakGlassAllowed ? ['In an emergency, break glass with a reason.'] : []),
  ];
}
