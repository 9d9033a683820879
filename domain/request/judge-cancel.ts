import type { AuditDraft } from '../audit.js';
import { forbidden } from '../errors.js';
import { can } from '../permissions.js';
import { conflict } from './guards.js';
import type { Move } from './moves.js';
import { isOwner, mayMove } from './relation.js';
import type { Instant, StoredRequest } from './types.js';
import { changed, nothing, refuse, type Verdict } from './verdict.js';

type Cancel = Extract<Move, { kind: 'cancel' }>;

/** ST-16 at once, or for a running request the wish that its agent hears of (RQ-70 to RQ-72, AG-61). */
export function judgeCancel(request: StoredRequest, move: Cancel, now: Instant): Verdict {
  if (!mayMove(move.caller, request) || !mayCancel(request, move)) return refuse(forbidden());
  const signal = { name: 'cancellation', actor: move.caller.id, step: null } as const;
  switch (request.status) {
    case 'pending':
    case 'approved':
    case 'dispatched':
    case 'execution_lost': {
      const state = cancelledState(request, move.caller.id, move.reason, now);
      return changed(state, [cancelledEvent(request, move.actor, move.reason, 'requested')], signal);
    }
    case 'running':
      if (request.cancelRequestedAt !== null) return nothing;
      return changed({ cancelRequestedAt: now, cancelledBy: move.caller.id, cancelReason: move.reason }, [], signal);
    default:
      return refuse(conflict(`request is ${request.status}`));
  }
}

const mayCancel = (request: StoredRequest, { caller }: Cancel) =>
  can(caller, 'request.cancel', request, isOwner(caller, request) ? 'own' : 'any');

/** The fields of a request that was cancelled while nothing of it ran; one that was lost may still prove a commit (ST-18). */
export function cancelledState(request: StoredRequest, by: string, reason: string | null, now: Instant): Partial<StoredRequest> {
  return {
    status: 'cancelled',
    resolvedAt: now,
    cancelRequestedAt: request.cancelRequestedAt ?? now,
    cancelledBy: by,
    cancelReason: reason,
    cancelledWhileLost: request.status === 'execution_lost',
    dispatchDeadline: null,
    claimedBy: null,
  };
}

/** The audit event of every way into `cancelled`. */
export function cancelledEvent(
  request: StoredRequest,
  actor: AuditDraft['actor'],
  reason: string | null,
  cause: 'requested' | 'user_suspended' | 'user_deleted',
): AuditDraft {
  return {
    type: 'request.cancelled',
    outcome: 'success',
    actor,
    resourceType: 'request',
    resourceId: request.id,
    reason,
    metadata: { cause },
  };
}
