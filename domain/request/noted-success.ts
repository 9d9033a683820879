import { systemActor } from '../audit/draft.js';
import type { Execution, Instant, StoredRequest } from './types.js';
import { changed, type ExecutionEnd, type Verdict } from './verdict.js';

/**
 * ST-24: what somebody wants to cancel has happened, as its lost newest attempt reported after the request was dispatched again (AG-44). Null if no
 * success was noted.
 */
export function provenMeanwhile({ execution, unresolved }: StoredRequest, now: Instant): Verdict | null {
  if (execution === null || !execution.unresolved || !isSuccess(execution)) return null;
  const { id, fence, agentId, outcome, windowSecs } = execution;
  const completed = {
    type: 'execution.completed',
    outcome: 'success',
    // Whose report it was; this call is somebody else's.
    actor: { ...systemActor, id: agentId, type: 'agent' },
    resourceType: 'execution',
    resourceId: id,
    reason: null,
    metadata: { fence, outcome },
  } as const;
  return changed(
    { status: 'executed', resolvedAt: now, dispatchBy: now + windowSecs * 1000, dispatchDeadline: null },
    [completed],
    { name: 'completion', actor: agentId, step: null },
    {
      execution: { id, set: { status: 'completed', lost: false, unresolved: false }, end: success },
      settled: unresolved.map((attempt) => attempt.fence),
    },
  );
}

const isSuccess = ({ outcome }: Execution) => outcome === 'committed' || outcome === 'already_applied';

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
