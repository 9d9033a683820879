import { type Actor, type AuditDraft, systemActor } from '../audit/draft.js';
import { can } from '../permissions.js';
import { conflict } from './guards.js';
import type { Move } from './moves.js';
import { provenMeanwhile } from './noted-success.js';
import { notOpen, notPermitted } from './refused.js';
import { isOwner, mayMove } from './relation.js';
import type { CancelCause, Instant, StoredRequest } from './types.js';
import { changed, nothing, refuse, type Verdict } from './verdict.js';

type Cancel = Extract<Move, { kind: 'cancel' }>;

/** ST-16: cancels at once. For a running request it records the wish, which its agent is then told (RQ-70 to RQ-72, AG-61). */
export function judgeCancel(request: StoredRequest, move: Cancel, now: Instant): Verdict {
  if (!mayMove(move.caller, request)) return refuse(notOpen());
  if (!mayCancel(request, move)) return refuse(notPermitted(move.caller, request, 'request.cancel'));
  const wish = { by: move.caller.id, reason: move.reason, cause: 'requested' } as const;
  return cancelByWish(request, wish, move.actor, now) ?? refuse(conflict('wrong_status', `request is ${request.status}`));
}

interface Wish {
  by: string;
  reason: string | null;
  cause: CancelCause;
}

/** Applies a wish to cancel, whoever made it; what is known to have committed is executed instead (RQ-73). Null when there is nothing left to cancel. */
export function cancelByWish(request: StoredRequest, wish: Wish, actor: AuditDraft['actor'], now: Instant): Verdict | null {
  const signal = { name: 'cancellation', actor: wish.by, step: null } as const;
  switch (request.status) {
    case 'pending':
    case 'approved':
    case 'dispatched':
    case 'execution_lost':
      return (
        provenMeanwhile(request, now) ??
        changed(cancelledState(request, wish, now), [cancelledEvent(request, actor, wish.reason, wish.cause)], signal)
      );
    case 'running':
      if (request.cancelRequestedAt !== null) return nothing;
      return changed({ cancelRequestedAt: now, ...wishState(wish) }, [], signal);
    default:
      return null;
  }
}

const mayCancel = (request: StoredRequest, { caller }: Cancel) =>
  can(caller, 'request.cancel', request, isOwner(caller, request) ? 'own' : 'any');

/** Whose wish the cancel was: a user's, or the gateway's where it ends what a gone user had open. */
export function whoCancelled({ cancelledBy, cancelCause }: Pick<StoredRequest, 'cancelledBy' | 'cancelCause'>): Actor {
  const isOwn = cancelledBy === systemActor.id && cancelCause !== null && cancelCause !== 'requested';
  return cancelledBy === null || isOwn ? systemActor : { ...systemActor, id: cancelledBy, type: 'user' };
}

/** Fields of a request cancelled while nothing of it ran. A lost one may still prove a commit later (ST-18). */
export function cancelledState(request: StoredRequest, wish: Wish, now: Instant): Partial<StoredRequest> {
  return {
    status: 'cancelled',
    resolvedAt: now,
    cancelRequestedAt: request.cancelRequestedAt ?? now,
    ...wishState(wish),
    cancelledWhileLost: request.status === 'execution_lost',
    dispatchDeadline: null,
    claimedBy: null,
  };
}

const wishState = ({ by, reason, cause }: Wish) => ({ cancelledBy: by, cancelReason: reason, cancelCause: cause });

/** The audit event for every path to `cancelled`. */
export function cancelledEvent(
  request: StoredRequest,
  actor: AuditDraft['actor'],
  reason: string | null,
  cause: CancelCause,
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
