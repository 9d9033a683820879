import { type AuditDraft, systemActor } from '../audit/draft.js';
import { type Execution, type Instant, isSuccess, type StoredRequest } from './types.js';
import { changed, type ExecutionChange, type ExecutionEnd, type Verdict } from './verdict.js';

/**
 * ST-24: what somebody wants to cancel, or what is about to expire, has happened, as a lost attempt reported after the request was dispatched again
 * (AG-44). Null if no success was noted.
 */
export function provenMeanwhile(request: StoredRequest, now: Instant): Verdict | null {
  const proof = notedSuccess(request);
  if (proof === null) return null;
  return changed(
    provenState(proof, now),
    [provenEvent(proof)],
    { name: 'completion', actor: proof.agentId, step: null },
    { execution: provenEnd(proof), settled: request.unresolved.map(({ fence }) => fence) },
  );
}

/** The attempt that reported a success while a newer fence existed, and whose outcome nothing has settled since, `settled` included (RQ-73). */
export function notedSuccess({ attempts }: StoredRequest, settled: readonly number[] = []): Execution | null {
  return attempts.findLast((one) => one.unresolved && isSuccess(one.outcome) && !settled.includes(one.fence)) ?? null;
}

export const provenState = ({ windowSecs }: Execution, now: Instant) =>
  ({
    status: 'executed',
    resolvedAt: now,
    claimedBy: null,
    dispatchBy: now + windowSecs * 1000,
    dispatchDeadline: null,
  }) as const satisfies Partial<StoredRequest>;

export const provenEvent = ({ id, fence, agentId, outcome }: Execution): AuditDraft => ({
  type: 'execution.completed',
  outcome: 'success',
  // Whose report it was; this call is somebody else's.
  actor: { ...systemActor, id: agentId, type: 'agent' },
  resourceType: 'execution',
  resourceId: id,
  reason: null,
  metadata: { fence, outcome },
});

export const provenEnd = ({ id }: Execution): ExecutionChange => ({
  id,
  set: { status: 'completed', lost: false, unresolved: false },
  end: success,
});

/** Only the outcome is kept of a late result. */
const success: ExecutionEnd = {
  success: true,
  appliedFence: null,
  rowsAffected: null,
  durationMs: null,
  truncated: null,
  errorMessage: null,
  kept: 'empty',
};
