import { matchesSelector } from '../selectors.js';
import { commonRefusal, conflict, decisionOf, shownOther } from './guards.js';
import type { Move } from './moves.js';
import { noApprover } from './refused.js';
import { isOwner } from './relation.js';
import type { Instant, StoredRequest } from './types.js';
import { changed, refuse, type Verdict } from './verdict.js';

type Reject = Extract<Move, { kind: 'reject' }>;

/** ST-6: one rejection ends a pending request (RQ-60, RQ-61). */
export function judgeReject(request: StoredRequest, move: Reject, now: Instant): Verdict {
  const early = commonRefusal(request, move.caller, now);
  if (early !== null) return refuse(early);
  if (request.status !== 'pending') return refuse(conflict('wrong_status', `request is ${request.status}`));
  const selector = rejectingSelector(request, move);
  if (selector === null) return refuse(noApprover(request, move.caller));
  const other = shownOther(request, move);
  if (other !== null) return refuse(other);
  const decision = decisionOf(request, move, selector, now);
  return changed(
    { status: 'rejected', resolvedAt: now },
    [
      {
        type: 'request.rejected',
        outcome: 'denied',
        actor: move.actor,
        resourceType: 'request',
        resourceId: request.id,
        reason: move.comment,
        metadata: {
          step_number: request.currentStep + 1,
          total_steps: request.policy?.steps.length ?? 0,
          matched_selector: selector,
        },
      },
    ],
    { name: 'rejection', actor: move.caller.id, step: request.currentStep },
    { decision },
  );
}

/** The owner may always reject. Anybody else needs a selector of the current step; the first match in workflow order is recorded. */
function rejectingSelector(request: StoredRequest, { caller }: Reject): string | null {
  if (isOwner(caller, request)) return 'requester';
  const approvers = request.policy?.steps[request.currentStep]?.approvers ?? [];
  return approvers.find(({ selector }) => matchesSelector(caller, selector, request))?.selector ?? null;
}
