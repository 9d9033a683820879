import { untouched } from '../../domain/request/creation.js';
import {
  type Decision,
  type Execution,
  isMutating,
  type Status,
  type StoredRequest,
  type UnresolvedAttempt,
} from '../../domain/request/types.js';
import type { PolicySnapshot } from '../../domain/workflow-policy.js';

/** "Now" of rule tests. The requests of this file were created one minute before it, and none of their clocks is reached. */
export const now = Date.UTC(2026, 4, 1, 9, 15, 30);

/** A workflow snapshot with one step, which needs one approval by group `reviewers`. Nobody may approve their own. */
export function workflowSnapshot(over: Partial<PolicySnapshot> = {}): PolicySnapshot {
  return {
    id: 'wf:app:production:e3b0c44298fc',
    database: 'app',
    environment: 'production',
    steps: [{ mode: 'all', approvers: [{ selector: 'group:reviewers', min: 1 }] }],
    requireReason: false,
    allowSelfApprove: false,
    allowSameApproverAcrossSteps: false,
    explain: false,
    autoApprove: null,
    pendingTtlSecs: 86_400,
    approvalTtlSecs: 7200,
    statementTimeoutSecs: null,
    ...over,
  };
}

/** Steps with one selector each: `steps('group:a', 'group:b')` needs two approvals in turn. */
export const steps = (...selectors: string[]): PolicySnapshot['steps'] =>
  selectors.map((selector) => ({ mode: 'all', approvers: [{ selector, min: 1 }] }));

/** An attempt whose outcome nobody knows. The first one has the id of `storedExecution`. */
export const unresolvedAttempt = (fence: number, provable: boolean): UnresolvedAttempt => ({
  fence,
  agentId: 'agent-1',
  provable,
  markerForm: 2,
  executionId: `c0ffee00-0000-4000-8000-${String(fence).padStart(12, '0')}`,
  claimedAt: now,
});

/** A running execution of fence 1 by `agent-1`, whose lease has another minute. */
export function storedExecution(over: Partial<Execution> = {}): Execution {
  return {
    id: 'c0ffee00-0000-4000-8000-000000000001',
    fence: 1,
    agentId: 'agent-1',
    claimId: null,
    mutating: false,
    marker: 'none',
    markerForm: 2,
    status: 'running',
    lost: false,
    unresolved: false,
    claimedAt: now,
    leaseExpiresAt: now + 60_000,
    leaseMs: 60_000,
    windowSecs: 3600,
    outcome: null,
    submission: null,
    ...over,
  };
}

/** A pending request of `alice` on (app, production) that nobody has decided about. */
export function storedRequest(over: Partial<StoredRequest> = {}): StoredRequest {
  return {
    ...untouched,
    id: '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11',
    requester: 'alice',
    requesterRole: 'requester',
    database: 'app',
    environment: 'production',
    operation: 'execute_select',
    dialect: 'postgresql',
    detail: 'select 1',
    emergency: false,
    noResultStore: false,
    maxAffectedRows: null,
    searchPath: null,
    shareSelectors: [],
    policy: workflowSnapshot(),
    policyRevision: 'r1',
    approvalDigest: 'a'.repeat(64),
    createdAt: now - 60_000,
    updatedAt: now - 60_000,
    expiresAt: now + 86_340_000,
    ...over,
  };
}

/** A request in the given status, with the fields and rows that a real one has. From `approved` on every step is approved. */
export function requestIn(status: Status, over: Partial<StoredRequest> = {}): StoredRequest {
  const base = storedRequest(over);
  const request = { ...base, status, ...partsIn(base)[status], ...over };
  return { ...request, attempts: over.attempts ?? (request.execution === null ? [] : [request.execution]) };
}

/** What a request in each status has beyond a pending one. */
function partsIn(base: StoredRequest): Record<Status, Partial<StoredRequest>> {
  const dispatched = { ...approvedParts(base), fence: 1, dispatchedAt: now - 20_000, dispatchDeadline: now + 280_000 };
  const claimed = { ...dispatched, dispatchDeadline: null };
  const ended = { ...claimed, resolvedAt: now - 1000, dispatchBy: now + 3_599_000 };
  const mutating = isMutating(base.operation);
  const running = storedExecution({ mutating, marker: mutating ? 'required' : 'none' });
  const lost: Execution = { ...running, status: 'failed', lost: true, unresolved: mutating, leaseExpiresAt: now - 1000 };
  return {
    pending: {},
    approved: approvedParts(base),
    dispatched,
    running: { ...claimed, claimedBy: running.agentId, execution: running },
    executed: {
      ...ended,
      execution: { ...running, status: 'completed', outcome: 'committed', submission: 'earlier' },
      finishedExecutions: 1,
    },
    failed: {
      ...ended,
      execution: { ...running, status: 'failed', outcome: 'rolled_back', submission: 'earlier' },
      finishedExecutions: 1,
    },
    rejected: { resolvedAt: now - 1000 },
    cancelled: { resolvedAt: now - 1000, cancelRequestedAt: now - 1000, cancelledBy: base.requester },
    expired: { resolvedAt: now - 1000, expiresAt: now - 1000 },
    execution_lost: {
      ...ended,
      lostReason: 'lost: no heartbeat since 2026-05-01T09:15:29.000Z',
      execution: lost,
      unresolved: mutating ? [unresolvedAttempt(1, true)] : [],
    },
  };
}

function approvedParts({ policy }: StoredRequest): Partial<StoredRequest> {
  const approvedAt = now - 30_000;
  const steps = policy?.steps ?? [];
  return {
    currentStep: steps.length,
    decisions: steps.map((step, index) => approval(index, `approver-${index}`, step.approvers[0]!.selector)),
    approvedAt,
    resolvedAt: approvedAt,
    dispatchBy: now + 7_170_000,
  };
}

export const approval = (step: number, userId: string, selector: string): Decision => ({
  step,
  userId,
  selector,
  action: 'approve',
  comment: null,
  at: now - 30_000,
  tokenId: null,
});
