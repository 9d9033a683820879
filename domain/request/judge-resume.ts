import { type GatewayError, refusal } from '../errors.js';
import { hasCap } from '../migration/stored.js';
import { can } from '../permissions.js';
import { checkDatabase, commonRefusal, conflict, integrityFailed, partlyApplied, reached, unfitToRun } from './guards.js';
import type { Move } from './moves.js';
import { notPermitted } from './refused.js';
import { isOwner } from './relation.js';
import { type Execution, type Instant, isSuccess, type StoredRequest } from './types.js';
import { changed, refuse, type Verdict } from './verdict.js';

type Resume = Extract<Move, { kind: 'resume' }>;

const resumable = new Set(['approved', 'executed', 'failed', 'execution_lost']);

/** ST-9: runs the checks RQ-80 to RQ-88; the last of them comes before RQ-82. Nothing runs again without a resume (RQ-87). */
export function judgeResume(request: StoredRequest, move: Resume, now: Instant): Verdict {
  const early =
    commonRefusal(request, move.caller, now) ??
    withoutRight(request, move) ??
    wrongStatus(request) ??
    resumedSince(request, move) ??
    (reached(now, request.dispatchBy)
      ? refusal('request.gone', 'the time to run this request is over', 'create a new request')
      : null) ??
    usedUp(request, move) ??
    unproven(request) ??
    changedOutside(move);
  if (early !== null) return refuse(early);
  // ST-23: the request may never have been approved, so it stays refused even if its content matches again.
  if (request.failureReason !== null) return refuse(conflict('content_changed', request.failureReason, 'create a new request'));
  const unfit = unfitToRun(request, move.facts);
  const { foundDigest } = move.facts;
  if (unfit !== null) return integrityFailed(request, { noticedBy: 'resume', part: unfit, foundDigest }, now);
  const fence = request.fence + 1;
  return changed(
    dispatchedState(fence, now, move.dispatchMs),
    [
      {
        type: 'request.dispatched',
        outcome: 'success',
        actor: move.actor,
        resourceType: 'request',
        resourceId: request.id,
        reason: move.reason,
        metadata: { fence },
      },
    ],
    { name: 'resumption', actor: move.caller.id, step: null },
  );
}

/** Whether somebody with the right to do so could run it now: RQ-81 to RQ-85. Its content, its pair and its owner are judged by the resume alone. */
export function isResumable(request: StoredRequest, policy: Resume['policy'], now: Instant): boolean {
  if (request.failureReason !== null || reached(now, request.dispatchBy)) return false;
  return [wrongStatus(request), usedUp(request, { policy }), unproven(request)].every((refusal) => refusal === null);
}

/** The fields of a fresh dispatch. A cancel asked for in an earlier run does not carry over. */
export function dispatchedState(fence: number, now: Instant, dispatchMs: number): Partial<StoredRequest> {
  return {
    status: 'dispatched',
    fence,
    dispatchedAt: now,
    dispatchDeadline: now + dispatchMs,
    claimedBy: null,
    cancelRequestedAt: null,
    cancelledBy: null,
    cancelReason: null,
    cancelCause: null,
    lostReason: null,
  };
}

function withoutRight(request: StoredRequest, { caller }: Resume): GatewayError | null {
  return can(caller, 'request.resume', request, isOwner(caller, request) ? 'own' : 'any')
    ? null
    : notPermitted(caller, request, 'request.resume');
}

function wrongStatus(request: StoredRequest): GatewayError | null {
  if (resumable.has(request.status)) return null;
  if (request.status === 'dispatched' || request.status === 'running')
    return conflict('already_dispatched', 'request is already dispatched');
  return conflict('wrong_status', `request is ${request.status}`);
}

/** RQ-88: a repeat of a resume that was taken, or one by somebody who has not seen what another one did, asks for no further run. */
const resumedSince = ({ fence }: StoredRequest, { expectedFence = null }: Resume): GatewayError | null =>
  expectedFence === null || expectedFence === fence
    ? null
    : conflict('already_dispatched', 'request is already dispatched: it was resumed since it was shown', lookFirst);

const lookFirst = 'look at what became of it before you resume it again';

/** Of an attempt that is unresolved, the next one finds out by its markers how much of the cap it has used (MI-35). */
const hasApplied = ({ status, outcome, unresolved }: Execution) =>
  !unresolved && (status === 'completed' || outcome === 'partial' || isSuccess(outcome));

/** RQ-83, RQ-84. */
function usedUp(request: StoredRequest, { policy }: Pick<Resume, 'policy'>): GatewayError | null {
  if (request.finishedExecutions >= policy.maxExecutions) {
    const often = policy.maxExecutions === 1 ? 'once' : `${policy.maxExecutions} times`;
    return conflict('executions_used_up', `this request has run ${often}, the most its policy allows`, 'create a new request');
  }
  const partly = partlyApplied(request);
  if (partly !== null) return partly;
  if (request.attempts.some(hasApplied) && hasCap(request))
    return conflict(
      'partly_applied',
      'this request has run migrations already, and its max_count counts over all its attempts',
      'create a new request',
    );
  return request.status !== 'failed' || policy.retryOnFailure
    ? null
    : conflict('not_retried', 'the execution policy does not retry failed requests', 'create a new request');
}

/** RQ-85, AG-58: a change that may have happened and cannot be proven is never run again. */
function unproven(request: StoredRequest): GatewayError | null {
  const attempt = request.unresolved.find(({ provable }) => !provable);
  return attempt === undefined
    ? null
    : conflict('outcome_unknown', 'the outcome of an earlier attempt is unknown', checkDatabase(attempt.fence));
}

/** RQ-86, except the digest. */
function changedOutside({ facts }: Resume): GatewayError | null {
  if (!facts.ownerActive) return conflict('requester_not_active', 'the requester is not active');
  return facts.pairUnchanged
    ? null
    : conflict('pair_changed', 'the database and environment are not registered as they were', 'create a new request');
}
