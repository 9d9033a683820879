import type { Actor } from '../../domain/audit.js';
import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import type { Caller, EffectiveRole, Ownership } from '../../domain/caller.js';
import { noOrigins } from '../../domain/four-eyes.js';
import type { Permission } from '../../domain/permission-table.js';
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
  provable,
  markerForm: 2,
  executionId: `c0ffee00-0000-4000-8000-${String(fence).padStart(12, '0')}`,
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
    leaseExpiresAt: now + 60_000,
    windowSecs: 3600,
    outcome: null,
    submission: null,
    ...over,
  };
}

/** A pending request of `alice` on (app, production) that nobody has decided about. */
export function storedRequest(over: Partial<StoredRequest> = {}): StoredRequest {
  return {
    id: '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11',
    version: 1,
    status: 'pending',
    requester: 'alice',
    requesterRole: 'requester',
    database: 'app',
    environment: 'production',
    operation: 'execute_select',
    dialect: 'postgresql',
    detail: 'select 1',
    emergency: false,
    passedBy: null,
    noResultStore: false,
    maxAffectedRows: null,
    searchPath: null,
    shareSelectors: [],
    policy: workflowSnapshot(),
    policyRevision: 'r1',
    approvalDigest: 'a'.repeat(64),
    currentStep: 0,
    fence: 0,
    createdAt: now - 60_000,
    updatedAt: now - 60_000,
    expiresAt: now + 86_340_000,
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
    ...over,
  };
}

/** A request in the given status, with the fields and rows that a real one has. From `approved` on every step is approved. */
export function requestIn(status: Status, over: Partial<StoredRequest> = {}): StoredRequest {
  const base = storedRequest(over);
  const approvedAt = now - 30_000;
  const approved = {
    status,
    currentStep: base.policy?.steps.length ?? 0,
    decisions: (base.policy?.steps ?? []).map((step, index) => approval(index, `approver-${index}`, step.approvers[0]!.selector)),
    approvedAt,
    resolvedAt: approvedAt,
    dispatchBy: now + 7_170_000,
  };
  const dispatched = { ...approved, fence: 1, dispatchedAt: now - 20_000, dispatchDeadline: now + 280_000 };
  const claimed = { ...dispatched, dispatchDeadline: null };
  const ended = { ...claimed, resolvedAt: now - 1000, dispatchBy: now + 3_599_000 };
  const mutating = isMutating(base.operation);
  const running = storedExecution({ mutating, marker: mutating ? 'required' : 'none' });
  const lost: Execution = { ...running, status: 'failed', lost: true, unresolved: mutating, leaseExpiresAt: now - 1000 };
  const parts: Record<Status, Partial<StoredRequest>> = {
    pending: {},
    approved,
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
    rejected: { status, resolvedAt: now - 1000 },
    cancelled: { status, resolvedAt: now - 1000, cancelRequestedAt: now - 1000, cancelledBy: base.requester },
    expired: { status, resolvedAt: now - 1000, expiresAt: now - 1000 },
    execution_lost: {
      ...ended,
      lostReason: 'lost: no heartbeat since 2026-05-01T09:15:29.000Z',
      execution: lost,
      unresolved: mutating ? [unresolvedAttempt(1, true)] : [],
    },
  };
  return { ...base, ...parts[status], ...over };
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

type Granted = Permission | `${Permission}:${Ownership}` | '*';

/** A custom role. A permission without suffix is `own`; databases and environments have no limit unless one is given. */
export function role(
  name: string,
  granted: readonly Granted[],
  scope: Partial<Pick<EffectiveRole, 'databases' | 'environments'>> = {},
): EffectiveRole {
  const permissions = granted.map((text) => {
    const [perm, ownership = text === '*' ? 'any' : 'own'] = text.split(':');
    return { perm: perm as Permission | '*', ownership: ownership as Ownership };
  });
  return { name, permissions, databases: ['*'], environments: ['*'], ...scope };
}

export const builtinRole = (name: string): EffectiveRole => BUILTIN_ROLES.find((known) => known.name === name)!;

export type UserCaller = Extract<Caller, { kind: 'user' }>;

/** A user with the built-in role `requester` unless other roles are given. */
export const user = (id: string, over: Partial<Pick<UserCaller, 'roles' | 'groups' | 'origins'>> = {}): UserCaller => ({
  kind: 'user',
  id,
  roles: [builtinRole('requester')],
  groups: [],
  memberOf: over.groups ?? [],
  origins: noOrigins,
  tokenId: null,
  ...over,
});

export const agent = (id: string): Caller => ({ kind: 'agent', id, tokenId: `token-of-${id}`, agentScopes: null });

export const actorOf = (caller: Caller): Actor => ({
  id: caller.id,
  type: caller.kind,
  tokenId: caller.tokenId,
  peerIp: '10.0.0.9',
  clientIp: '10.0.0.9',
  clientIpSource: 'peer',
});
