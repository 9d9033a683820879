import type { Actor, AuditDraft } from '../audit.js';
import type { Operation } from '../policies.js';
import type { AutoApproval, PolicySnapshot, RiskLevel } from '../workflow-policy.js';
import type { CollectedContext } from './context.js';
import { dispatchedState } from './judge-resume.js';
import { type Instant, isMutating, type StoredRequest } from './types.js';

/** A statement that EXPLAIN accepts; `error` is set when no agent is asked to plan it. */
export interface Explainable {
  sql: string;
  error: string | null;
}

/** What the caller asked for, after defaults and aliases (requests.md section 2). */
export interface CreationInput {
  database: string;
  environment: string;
  detail: string;
  reason: string | null;
  idempotencyKey: string | null;
  /** The JSON text as it was sent. */
  metadata: string;
  emergency: boolean;
  allowDdl: boolean;
  noResultStore: boolean;
  requireApproval: boolean;
  shareWith: string[];
  /** Normalised, sorted, without repeats (RQ-10). */
  shareSelectors: string[];
}

/** The input plus the results of the checks made before the transaction. */
export interface Creation {
  id: string;
  input: CreationInput;
  requester: string;
  requesterRole: string;
  operation: Operation;
  dialect: StoredRequest['dialect'];
  statementType: string;
  risk: { level: RiskLevel; factors: string[]; schemaStatus: string };
  review: { policyId: string | null; findingsCount: number; parseFailed: boolean };
  /** What `allow_ddl` lifted (BG-3); null when it lifted nothing. */
  bypass: { statementCount: number } | null;
  /** The state of the directory that the bundle was made from, as events show it (MI-12); null for other operations. */
  dirSha256: string | null;
  searchPath: StoredRequest['searchPath'];
  context: CollectedContext;
  /** The statements that agents are asked to explain (AG-65), and those they are not asked about, with the reason. */
  explain: readonly Explainable[];
  policy: PolicySnapshot | null;
  approval: AutoApproval;
  policyRevision: string;
  approvalDigest: string;
  /** Used for TT-2 where no workflow sets a time. */
  approvalTtlSecs: number;
  dispatchMs: number;
}

/** ST-1 to ST-3: the request as it is first stored, at Postgres's instant `now`, and its creation events (RQ-26). */
export function createdRequest(creation: Creation, actor: Actor, now: Instant): { request: StoredRequest; events: AuditDraft[] } {
  const { input, policy } = creation;
  const dispatched = creation.approval.outcome === 'auto_approved';
  const pending: StoredRequest = {
    id: creation.id,
    version: 1,
    status: 'pending',
    requester: creation.requester,
    requesterRole: creation.requesterRole,
    database: input.database,
    environment: input.environment,
    operation: creation.operation,
    dialect: creation.dialect,
    detail: input.detail,
    emergency: input.emergency,
    passedBy: dispatched ? (input.emergency ? 'break_glass' : 'policy') : null,
    noResultStore: input.noResultStore,
    maxAffectedRows: rowBound(creation),
    searchPath: creation.searchPath,
    shareSelectors: input.shareSelectors,
    policy,
    policyRevision: creation.policyRevision,
    approvalDigest: creation.approvalDigest,
    currentStep: 0,
    fence: 0,
    createdAt: now,
    updatedAt: now,
    expiresAt: dispatched || policy === null ? null : now + policy.pendingTtlSecs * 1000,
    approvedAt: null,
    dispatchBy: null,
    dispatchedAt: null,
    dispatchDeadline: null,
    resolvedAt: null,
    claimedBy: null,
    cancelRequestedAt: null,
    cancelledBy: null,
    cancelReason: null,
    cancelCause: null,
    cancelledWhileLost: false,
    lostReason: null,
    failureReason: null,
    decisions: [],
    execution: null,
    finishedExecutions: 0,
    unresolved: [],
    attempts: [],
    broken: null,
  };
  const ttlSecs = policy?.approvalTtlSecs ?? creation.approvalTtlSecs;
  const request = dispatched
    ? { ...pending, ...dispatchedState(1, now, creation.dispatchMs), approvedAt: now, dispatchBy: now + ttlSecs * 1000 }
    : pending;
  return { request, events: creationEvents(creation, actor, dispatched) };
}

/**
 * HD-25: a person who approves sees the text, so no bound is needed. A write that passed by risk may change as many rows as its risk was judged on.
 */
function rowBound({ approval, operation, policy }: Creation): number | null {
  const passed = approval.reason === 'risk_below_threshold' && isMutating(operation);
  return passed ? (policy?.autoApprove?.maxEstimatedRows ?? 0) : null;
}

function creationEvents({ id, input, bypass, dirSha256, explain }: Creation, actor: Actor, dispatched: boolean): AuditDraft[] {
  const event = { outcome: 'success', actor, resourceType: 'request', resourceId: id } as const;
  const metadata = {
    channel: 'api',
    emergency: input.emergency,
    allow_ddl: input.allowDdl,
    no_result_store: input.noResultStore,
    ...(input.requireApproval ? { require_approval: true } : {}),
    share_with: input.shareWith,
    ...(explain.length === 0 ? {} : { planned_statements: explain.filter(({ error }) => error === null).length }),
    ...(dirSha256 === null ? {} : { dir_sha256: dirSha256 }),
  };
  if (!dispatched) return [{ ...event, type: 'request.created', reason: input.reason, metadata }];
  return [
    { ...event, type: input.emergency ? 'request.break_glass' : 'request.auto_approved', reason: input.reason, metadata },
    { ...event, type: 'request.dispatched', reason: null, metadata: { fence: 1 } },
    ...(bypass === null
      ? []
      : [{ ...event, type: 'ddl.break_glass_bypass' as const, reason: input.reason, metadata: bypassMetadata(bypass) }]),
  ];
}

/** A refusal by the classifier is never lifted, so only the review can have been bypassed (SQ-I8). */
function bypassMetadata({ statementCount }: { statementCount: number }) {
  return { statement_count: statementCount, classifier_bypassed: false, reviewer_bypassed: true };
}

/** RQ-44: written once and never changed. */
export function decisionTrace(creation: Creation) {
  const { risk, review, policy, approval } = creation;
  return {
    version: 1,
    classification: { resolved_operation: creation.operation },
    sql_review: { policy_id: review.policyId, findings_count: review.findingsCount, parse_failed: review.parseFailed },
    risk: { level: risk.level, factors: risk.factors, schema_status: risk.schemaStatus },
    workflow: {
      matched:
        policy === null
          ? null
          : {
              id: policy.id,
              database: policy.database,
              environment: policy.environment,
              step_count: policy.steps.length,
            },
    },
    decision: { outcome: approval.outcome, reasons: [approval.reason], auto_approve_threshold: approval.threshold },
  };
}
