import { systemActor } from '../audit.js';
import { forbidden, type GatewayError, refusal } from '../errors.js';
import type { Caller } from '../permissions.js';
import { mayMove } from './relation.js';
import type { Instant, StoredRequest } from './types.js';
import { changed, type Verdict } from './verdict.js';

export const conflict = (text: string, hint: string | null = null) => refusal('request.conflict', text, hint);

/** An instant that is reached counts as passed (TT-6). */
export const reached = (now: Instant, instant: Instant | null) => instant !== null && now >= instant;

/** The checks approve, reject and resume share, after the request was found: relation (403), then expiry (410). */
export function commonRefusal(request: StoredRequest, caller: Caller, now: Instant): GatewayError | null {
  if (!mayMove(caller, request)) return forbidden();
  const over = request.status === 'expired' || (request.status === 'pending' && reached(now, request.expiresAt));
  return over ? refusal('request.gone', 'request has expired') : null;
}

/** ET-13, ST-23: the stored digest no longer fits. The call is refused, and a request that waits ends `failed`. */
export function integrityFailed(
  request: StoredRequest,
  noticedBy: 'approve' | 'resume' | 'claim',
  foundDigest: string,
  now: Instant,
): Verdict {
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
        metadata: { noticed_by: noticedBy, expected_digest: request.approvalDigest, found_digest: foundDigest },
      },
    ],
    ends ? { name: 'change', actor: 'system', step: null } : null,
  );
  return { ...verdict, refusal: conflict('approved content changed', 'create a new request') };
}
