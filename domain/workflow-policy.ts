import type { Pair } from './caller.js';
import type {
  ApprovalStage,
  AutoApproveRule,
  Channel,
  ExecutionPolicy,
  Operation,
  ResultPolicy,
  RiskThreshold,
  WorkflowPolicy,
} from './policies.js';

export const RISK_LEVELS = ['low', 'medium', 'high', 'critical', 'unknown', 'unavailable'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** The maximum age of a schema snapshot where no workflow policy sets one (SQ-85a). */
export const DEFAULT_SNAPSHOT_AGE_SECS = 86_400;

/** WF-3: the copy of the matched workflow policy that is stored with a request: plain JSON, all TTLs resolved, in seconds. */
export interface PolicySnapshot {
  id: string;
  database: string;
  environment: string;
  steps: ApprovalStage[];
  requireReason: boolean;
  allowSelfApprove: boolean;
  allowSameApproverAcrossSteps: boolean;
  explain: boolean;
  autoApprove: AutoApproveRule | null;
  pendingTtlSecs: number;
  approvalTtlSecs: number;
  /** null = use the execution policy's. */
  statementTimeoutSecs: number | null;
}

/** WF-1: the workflow policy that decides about a request, null when none matches. Score: 4 environment, 2 database, 1 operation. */
export function matchWorkflow(
  workflows: readonly WorkflowPolicy[],
  request: Pair & { operation: Operation },
): WorkflowPolicy | null {
  const candidates = workflows.filter(({ operations }) => operations.length === 0 || operations.includes(request.operation));
  return best(candidates, request, (workflow) => (workflow.operations.length === 0 ? 0 : 1));
}

/** WF-2, NT-11, AG-38: the most specific policy of a pair, null when none matches (built-in defaults apply). Score: 2 environment, 1 database. */
export function matchPolicy<T extends Pair>(policies: readonly T[], pair: Pair): T | null {
  return best(policies, pair, () => 0);
}

/** Copies what a request keeps. `approvalTtlSecs` is `retention.approval_ttl_secs`, the default of both clocks (TT-1, TT-2). */
export function snapshotWorkflow(workflow: WorkflowPolicy, approvalTtlSecs: number): PolicySnapshot {
  const { operations: _, ...kept } = structuredClone(workflow);
  return {
    ...kept,
    pendingTtlSecs: workflow.pendingTtlSecs ?? approvalTtlSecs,
    approvalTtlSecs: workflow.approvalTtlSecs ?? approvalTtlSecs,
  };
}

export const AUTO_APPROVAL_REASONS = [
  'explicit_always',
  'risk_below_threshold',
  'risk_above_threshold',
  'risk_unavailable',
  'rows_not_bounded',
  'approval_requested',
  'channel_not_allowed',
  'no_auto_approve_rule',
  'break_glass',
] as const;
export type AutoApprovalReason = (typeof AUTO_APPROVAL_REASONS)[number];

export interface AutoApproval {
  outcome: 'auto_approved' | 'needs_approval';
  reason: AutoApprovalReason;
  threshold: RiskThreshold | null;
}

const RISK_RANK = { low: 1, medium: 2, high: 3, critical: 4, unknown: null, unavailable: null } as const satisfies Record<
  RiskLevel,
  number | null
>;

/** What decides, besides policy and risk, whether a request passes without approval. */
export interface Passing {
  emergency: boolean;
  /** The requester asks for the approval steps (HD-26). */
  requireApproval: boolean;
  /** An agent can limit the rows it changes, which is required to pass by risk (HD-25). */
  bounded: boolean;
  /** What the request comes through; the API if absent. */
  channel?: Channel | undefined;
}

/**
 * The table of requests.md 8: whether a creation is dispatched immediately, and the reason for its trace. Total; a risk equal to the threshold
 * passes.
 */
export function decideAutoApproval(
  rule: (Pick<AutoApproveRule, 'mode' | 'risk'> & { channels?: AutoApproveRule['channels'] | undefined }) | null,
  risk: RiskLevel,
  { emergency, requireApproval, bounded, channel = 'api' }: Passing,
): AutoApproval {
  if (emergency) return { outcome: 'auto_approved', reason: 'break_glass', threshold: null };
  if (rule === null) return { outcome: 'needs_approval', reason: 'no_auto_approve_rule', threshold: null };
  if (requireApproval) return { outcome: 'needs_approval', reason: 'approval_requested', threshold: rule.risk };
  if (!isFor(rule, channel)) return { outcome: 'needs_approval', reason: 'channel_not_allowed', threshold: rule.risk };
  if (rule.mode === 'always') return { outcome: 'auto_approved', reason: 'explicit_always', threshold: null };
  const threshold = rule.risk;
  const rank = RISK_RANK[risk];
  if (rank === null || threshold === null) return { outcome: 'needs_approval', reason: 'risk_unavailable', threshold };
  if (rank > RISK_RANK[threshold]) return { outcome: 'needs_approval', reason: 'risk_above_threshold', threshold };
  if (!bounded) return { outcome: 'needs_approval', reason: 'rows_not_bounded', threshold };
  return { outcome: 'auto_approved', reason: 'risk_below_threshold', threshold };
}

const isFor = ({ channels = [] }: { channels?: AutoApproveRule['channels'] | undefined }, channel: Channel): boolean =>
  channels.length === 0 || channels.includes(channel);

/** Why a creation is refused that its workflow policy would neither let pass nor show to anybody; null when it takes it. */
export const noWayThrough = (
  { reason }: Pick<AutoApproval, 'reason'>,
  { steps }: Pick<WorkflowPolicy, 'steps'>,
): string | null =>
  reason === 'channel_not_allowed' && steps.length === 0
    ? 'the workflow lets nothing pass that comes this way, and has no approval steps'
    : null;

export type DecisionPreview =
  | { decision: 'deny'; reason: 'no_matching_workflow' }
  | { decision: 'deny' | 'needs_approval'; reason: 'channel_not_allowed' }
  | { decision: 'auto_approved'; reason: 'explicit_always' }
  | { decision: 'may_auto_approve'; reason: 'risk_unknown_until_analyzed' }
  | { decision: 'needs_approval'; reason: 'no_auto_approve' }
  | { decision: 'break_glass_only'; reason: 'emergency_required' };

/**
 * The decision as far as it is known without the text (preflight.md 2). An emergency needs no workflow policy (BG-1), so a repair is never denied.
 */
export function previewDecision(
  workflow: Pick<WorkflowPolicy, 'autoApprove' | 'steps'> | null,
  operation: Operation,
  channel: Channel = 'api',
): DecisionPreview {
  if (operation === 'migrate_repair') return { decision: 'break_glass_only', reason: 'emergency_required' };
  if (workflow === null) return { decision: 'deny', reason: 'no_matching_workflow' };
  const { autoApprove, steps } = workflow;
  if (autoApprove !== null && !isFor(autoApprove, channel))
    return { decision: steps.length === 0 ? 'deny' : 'needs_approval', reason: 'channel_not_allowed' };
  const mode = autoApprove?.mode;
  if (mode === 'always') return { decision: 'auto_approved', reason: 'explicit_always' };
  if (mode === 'risk_based' && operation.startsWith('execute_'))
    return { decision: 'may_auto_approve', reason: 'risk_unknown_until_analyzed' };
  return { decision: 'needs_approval', reason: 'no_auto_approve' };
}

/** The timeout of one statement in seconds: the workflow's own, else the policy's, capped at the policy's maximum (requests.md 9). */
export function effectiveStatementTimeoutSecs(
  policy: Pick<ExecutionPolicy, 'statementTimeoutSecs' | 'maxStatementTimeoutSecs'>,
  workflow: { statementTimeoutSecs: number | null } | null,
): number {
  return Math.min(workflow?.statementTimeoutSecs ?? policy.statementTimeoutSecs, policy.maxStatementTimeoutSecs);
}

/** The execution policy of a pair that no entry names; also the defaults for an entry (configuration.md 6). */
export const DEFAULT_EXECUTION_POLICY: Readonly<Omit<ExecutionPolicy, 'id' | 'database' | 'environment'>> = {
  maxExecutions: 1,
  executionWindowSecs: 86_400,
  retryOnFailure: false,
  statementTimeoutSecs: 30,
  maxStatementTimeoutSecs: 600,
  maxRows: null,
  migrationLeaseDurationSecs: null,
  migrationStatementTimeoutSecs: null,
};

/** RS-58: the result policy of a pair that no entry names; `resultTtlDays` is `retention.result_ttl_days`. */
export function defaultResultPolicy(resultTtlDays: number) {
  return { id: null, retentionDays: resultTtlDays, deliveryMode: 'both' as const, access: [] as string[] };
}

/** RS-58. */
export const resultPolicyOf = (policies: readonly ResultPolicy[], pair: Pair, resultTtlDays: number) =>
  matchPolicy(policies, pair) ?? defaultResultPolicy(resultTtlDays);

/** Earlier entries win on equal scores; the configuration makes ties impossible. */
function best<T extends Pair>(candidates: readonly T[], pair: Pair, bonus: (candidate: T) => number): T | null {
  let winner: { candidate: T; score: number } | null = null;
  for (const candidate of candidates) {
    const parts = [points(candidate.environment, pair.environment, 4), points(candidate.database, pair.database, 2)];
    if (parts.includes(null)) continue;
    const score = (parts[0] ?? 0) + (parts[1] ?? 0) + bonus(candidate);
    if (winner === null || score > winner.score) winner = { candidate, score };
  }
  return winner === null ? null : winner.candidate;
}

const points = (pattern: string, name: string, exact: number) => (pattern === name ? exact : pattern === '*' ? 0 : null);
