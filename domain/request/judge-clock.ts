import { type AuditDraft, systemActor } from '../audit/draft.js';
import { reached } from './guards.js';
import { cancelledEvent, cancelledState, whoCancelled } from './judge-cancel.js';
import { provenMeanwhile } from './noted-success.js';
import type { Execution, Instant, StoredRequest } from './types.js';
import { type Change, changed, nothing, type Verdict } from './verdict.js';
import type { ClockKind } from './view.js';

const signal = { name: 'change', actor: 'system', step: null } as const;
// Usually the workflow itself made this move and is about to end. News at that moment would make its last task fail and run again.
const lingerMs = 1000;

/**
 * Makes the move that a clock stands for, if its status still holds and its instant is reached; otherwise nothing (ST-7, ST-8, ST-11, ST-14). What is known
 * to have committed does not expire (ST-24).
 */
export function judgeClock(request: StoredRequest, clock: ClockKind, now: Instant): Verdict {
  switch (clock) {
    case 'pending':
      if (request.status !== 'pending' || !reached(now, request.expiresAt)) return nothing;
      return changed({ status: 'expired', resolvedAt: now }, [expired(request, 'pending')], signal, { lingerMs });
    case 'approved':
      if (request.status !== 'approved' || !reached(now, request.dispatchBy)) return nothing;
      return (
        provenMeanwhile(request, now) ??
        changed({ status: 'expired', resolvedAt: now }, [expired(request, 'approved')], signal, { lingerMs })
      );
    case 'dispatch':
      if (request.status !== 'dispatched' || !reached(now, request.dispatchDeadline)) return nothing;
      return dispatchTimedOut(request, now);
    case 'lease':
      return request.execution === null ? nothing : judgeLease(request, request.execution.id, now);
  }
}

/** ST-11: nobody claimed it in time. TT-7: this does not extend `dispatch_by`. */
function dispatchTimedOut(request: StoredRequest, now: Instant): Verdict {
  const timeout: AuditDraft = { ...systemEvent(request), type: 'request.dispatch_timeout', outcome: 'failure', metadata: {} };
  const over = reached(now, request.dispatchBy);
  const proven = over ? provenMeanwhile(request, now) : null;
  if (proven !== null) return proven;
  return changed(
    { status: over ? 'expired' : 'approved', resolvedAt: now, dispatchDeadline: null },
    over ? [timeout, expired(request, 'approved')] : [timeout],
    signal,
    { lingerMs },
  );
}

/** ST-14: the lease of the newest execution ended without a result (AG-51). AG-52: a cancelled read becomes `cancelled`. */
export function judgeLease(request: StoredRequest, executionId: string, now: Instant): Verdict {
  const execution = request.execution;
  if (request.status !== 'running' || execution === null || execution.id !== executionId) return nothing;
  if (execution.status !== 'running' || !reached(now, execution.leaseExpiresAt)) return nothing;
  const lastHeard = new Date(execution.leaseExpiresAt - execution.leaseMs).toISOString();
  const errorMessage = `lost: no heartbeat since ${lastHeard}`;
  const lost = lostEvent(execution, 'lease_end');
  const rest = { lingerMs, execution: endOfLost(execution, errorMessage) };
  if (request.cancelRequestedAt !== null && !execution.mutating) {
    const { state, event } = cancelledMeanwhile(request, now);
    return changed(state, [lost, event], signal, rest);
  }
  const dispatchBy = now + execution.windowSecs * 1000;
  const state = { status: 'execution_lost', resolvedAt: now, claimedBy: null, lostReason: errorMessage, dispatchBy } as const;
  return changed(state, [lost], signal, rest);
}

/** The wish to cancel is fulfilled: its user is the one who cancelled. */
function cancelledMeanwhile(request: StoredRequest, now: Instant) {
  const actor = whoCancelled(request);
  const wish = { by: actor.id, reason: request.cancelReason, cause: request.cancelCause ?? 'requested' } as const;
  return { state: cancelledState(request, wish, now), event: cancelledEvent(request, actor, wish.reason, wish.cause) };
}

const endOfLost = ({ id, mutating }: Execution, errorMessage: string): Change['execution'] => ({
  id,
  set: { status: 'failed', lost: true, unresolved: mutating },
  end: {
    success: false,
    appliedFence: null,
    rowsAffected: null,
    durationMs: null,
    truncated: null,
    errorMessage,
    kept: 'empty',
  },
});

/** The event for every path to `execution_lost`. */
export const lostEvent = ({ id, fence }: Pick<Execution, 'id' | 'fence'>, cause: 'lease_end' | 'unknown'): AuditDraft => ({
  type: 'execution.lost',
  outcome: 'failure',
  actor: systemActor,
  resourceType: 'execution',
  resourceId: id,
  reason: null,
  metadata: { fence, cause },
});

const expired = (request: StoredRequest, phase: 'pending' | 'approved'): AuditDraft => ({
  ...systemEvent(request),
  type: 'request.expired',
  outcome: 'info',
  metadata: { phase },
});

const systemEvent = (request: StoredRequest) =>
  ({ actor: systemActor, resourceType: 'request', resourceId: request.id, reason: null }) as const;
