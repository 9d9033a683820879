import type { AuditDraft } from '../audit/draft.js';
import { dispatchedState } from './judge-resume.js';
import type { NewRequest } from './new-request.js';
import { type Instant, isMutating, type StoredRequest } from './types.js';

/** ST-1 to ST-3: the request as it is first stored, at Postgres's instant `now`, and its creation events (RQ-26). */
export function createdRequest(request: NewRequest, now: Instant): { request: StoredRequest; events: AuditDraft[] } {
  const { policy, approval } = request;
  const dispatched = approval.outcome === 'auto_approved';
  const pending = pendingRequest(request, now);
  if (!dispatched) {
    const expiresAt = policy === null ? null : now + policy.pendingTtlSecs * 1000;
    return { request: { ...pending, expiresAt }, events: [createdEvent(request, 'request.created')] };
  }
  const { emergency } = request.input;
  const passed: StoredRequest = {
    ...pending,
    ...dispatchedState(1, now, request.dispatchMs),
    passedBy: emergency ? 'break_glass' : 'policy',
    approvedAt: now,
    dispatchBy: now + (policy?.approvalTtlSecs ?? request.approvalTtlSecs) * 1000,
  };
  const type = emergency ? 'request.break_glass' : 'request.auto_approved';
  return { request: passed, events: [createdEvent(request, type), dispatchedEvent(request), ...bypassEvents(request)] };
}

function pendingRequest(request: NewRequest, now: Instant): StoredRequest {
  const { input } = request;
  return {
    ...untouched,
    id: request.id,
    requester: request.requester,
    requesterRole: request.requesterRole,
    database: input.database,
    environment: input.environment,
    operation: request.operation,
    dialect: request.dialect,
    detail: input.detail,
    emergency: input.emergency,
    noResultStore: input.noResultStore,
    maxAffectedRows: rowBound(request),
    searchPath: request.searchPath,
    shareSelectors: input.shareSelectors,
    policy: request.policy,
    policyRevision: request.policyRevision,
    approvalDigest: request.approvalDigest,
    createdAt: now,
    updatedAt: now,
  };
}

/** What every request begins with. */
export const untouched = {
  version: 1,
  status: 'pending',
  passedBy: null,
  currentStep: 0,
  fence: 0,
  expiresAt: null,
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
} satisfies Partial<StoredRequest>;

/**
 * HD-25: a person who approves sees the text, so no bound is needed. A write that passed by risk may change as many rows as its risk was judged on.
 */
function rowBound({ approval, operation, policy }: NewRequest): number | null {
  const passed = approval.reason === 'risk_below_threshold' && isMutating(operation);
  return passed ? (policy?.autoApprove?.maxEstimatedRows ?? 0) : null;
}

const eventOf = ({ id, actor }: NewRequest) => ({ outcome: 'success', actor, resourceType: 'request', resourceId: id }) as const;

function createdEvent(request: NewRequest, type: AuditDraft['type']): AuditDraft {
  const { input, dirSha256, explain } = request;
  const metadata = {
    channel: request.actor.channel ?? 'api',
    ...(request.actor.client === undefined ? {} : { client: request.actor.client }),
    emergency: input.emergency,
    allow_ddl: input.allowDdl,
    no_result_store: input.noResultStore,
    ...(input.requireApproval ? { require_approval: true } : {}),
    share_with: input.shareWith,
    ...(explain.length === 0 ? {} : { planned_statements: explain.filter(({ error }) => error === null).length }),
    ...(dirSha256 === null ? {} : { dir_sha256: dirSha256 }),
  };
  return { ...eventOf(request), type, reason: input.reason, metadata };
}

const dispatchedEvent = (request: NewRequest): AuditDraft => ({
  ...eventOf(request),
  type: 'request.dispatched',
  reason: null,
  metadata: { fence: 1 },
});

/** A refusal by the classifier is never lifted, so only the review can have been bypassed (SQ-I8). */
function bypassEvents(request: NewRequest): AuditDraft[] {
  if (request.bypass === null) return [];
  const metadata = {
    statement_count: request.bypass.statementCount,
    classifier_bypassed: false,
    reviewer_bypassed: true,
  };
  return [{ ...eventOf(request), type: 'ddl.break_glass_bypass', reason: request.input.reason, metadata }];
}

/** RQ-44: written once and never changed. */
export function decisionTrace({ operation, risk, review, policy, approval, policyVersions }: NewRequest) {
  return {
    version: 1,
    classification: { resolved_operation: operation },
    sql_review: {
      policy_id: review.policyId,
      findings_count: review.findingsCount,
      parse_failed: review.parseFailed,
      ...policyVersions?.review,
    },
    risk: { level: risk.level, factors: risk.factors, schema_status: risk.schemaStatus },
    workflow: { matched: policy === null ? null : { ...matchedOf(policy), ...policyVersions?.workflow } },
    decision: { outcome: approval.outcome, reasons: [approval.reason], auto_approve_threshold: approval.threshold },
  };
}

const matchedOf = ({ id, database, environment, steps }: NonNullable<NewRequest['policy']>) => ({
  id,
  database,
  environment,
  step_count: steps.length,
});
