import { systemActor } from '../audit/draft.js';
import type { Caller } from '../caller.js';
import { type GatewayError, type Reason, refusal } from '../errors.js';
import { mayStayHalfDone } from '../migration/stored.js';
import { stepProgress } from './approval.js';
import type { DispatchFacts, Move } from './moves.js';
import { notOpen } from './refused.js';
import { mayMove } from './relation.js';
import type { BrokenPart, Decision, Instant, StoredRequest } from './types.js';
import { changed, type Verdict } from './verdict.js';

export const conflict = (reason: Reason, text: string, hint: string | null = null) =>
  refusal('request.conflict', text, hint, reason);

/** An instant counts as passed once it is reached (TT-6). */
export const reached = (now: Instant, instant: Instant | null) => instant !== null && now >= instant;

/** The checks that approve, reject and resume share once the request is found: relation (403), then expiry (410). */
export function commonRefusal(request: StoredRequest, caller: Caller, now: Instant): GatewayError | null {
  if (!mayMove(caller, request)) return notOpen();
  const over = request.status === 'expired' || (request.status === 'pending' && reached(now, request.expiresAt));
  return over ? refusal('request.gone', 'request has expired') : null;
}

/** What the caller decides on the current step. Its instant is after all earlier ones, also where a clock was set back: they tell the order of decisions. */
export const decisionOf = (
  { currentStep, decisions }: StoredRequest,
  { caller, comment, kind }: Extract<Move, { kind: Decision['action'] }>,
  selector: string,
  now: Instant,
): Decision => ({
  step: currentStep,
  userId: caller.id,
  action: kind,
  selector,
  comment,
  at: Math.max(now, ...decisions.map(({ at }) => at + 1)),
  tokenId: caller.tokenId,
});

/** RQ-57: the caller was shown another request than the one that is stored. */
export const shownOther = (
  { approvalDigest }: Pick<StoredRequest, 'approvalDigest'>,
  { expectedDigest = null }: { expectedDigest?: string | null },
): GatewayError | null =>
  expectedDigest === null || expectedDigest === approvalDigest
    ? null
    : conflict('content_changed', 'the request is not the one that was shown', lookAgain);

export const lookAgain = 'look at it again before you decide';

/** C14: a part of it is applied and stays, and another attempt would begin with that part again. */
export function partlyApplied(request: StoredRequest): GatewayError | null {
  const attempt = request.attempts.find(({ outcome }) => outcome === 'partial');
  if (attempt === undefined || !(request.operation === 'execute_dml' || mayStayHalfDone(request))) return null;
  return conflict('partly_applied', 'a part of this request is applied', checkDatabase(attempt.fence));
}

export const checkDatabase = (fence: number) =>
  `the outcome of attempt ${fence} cannot be proven; check the database and create a new request`;

type Unfit = 'digest' | BrokenPart | 'steps';

/** Why a request must not be approved: it is not as the gateway wrote it (ET-13, HD-50). Null when it is intact. */
export function unfitForApproval({ broken }: StoredRequest, { digestIntact }: Pick<DispatchFacts, 'digestIntact'>): Unfit | null {
  return digestIntact ? broken : 'digest';
}

/** The same for a dispatch and a claim. These also recount the steps, because a status alone does not prove an approval (HD-50). */
export function unfitToRun(request: StoredRequest, facts: Pick<DispatchFacts, 'digestIntact'>): Unfit | null {
  return unfitForApproval(request, facts) ?? (mayPass(request) ? null : 'steps');
}

function mayPass({ passedBy, policy, decisions }: StoredRequest): boolean {
  if (passedBy !== null) return true;
  return policy !== null && policy.steps.length > 0 && stepProgress(policy, decisions).every(({ satisfied }) => satisfied);
}

interface Alteration {
  noticedBy: 'approve' | 'resume' | 'claim';
  part: Unfit;
  foundDigest: string;
}

/** ET-13, ST-23: the stored request was altered. The call is refused, and a waiting request ends `failed`. */
export function integrityFailed(request: StoredRequest, { noticedBy, part, foundDigest }: Alteration, now: Instant): Verdict {
  const ends = request.status === 'pending' || request.status === 'approved' || request.status === 'dispatched';
  const verdict = changed(
    ends
      ? { status: 'failed', failureReason: 'approved content changed', resolvedAt: now, dispatchBy: null, dispatchDeadline: null }
      : {},
    [
      {
        type: 'request.integrity_failed',
        outcome: 'failure',
        actor: systemActor,
        resourceType: 'request',
        resourceId: request.id,
        reason: null,
        metadata: { noticed_by: noticedBy, expected_digest: request.approvalDigest, found_digest: foundDigest, part },
      },
    ],
    ends ? { name: 'change', actor: 'system', step: null } : null,
  );
  return { ...verdict, refusal: conflict('content_changed', 'approved content changed', 'create a new request') };
}
