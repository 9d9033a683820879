import { judgeApprove } from './judge-approve.js';
import { judgeCancel } from './judge-cancel.js';
import { judgeClaim } from './judge-claim.js';
import { judgeClock, judgeLease } from './judge-clock.js';
import { judgeOwnerGone } from './judge-owner-gone.js';
import { judgeReject } from './judge-reject.js';
import { judgeResult } from './judge-result.js';
import { judgeResume } from './judge-resume.js';
import type { Move } from './moves.js';
import type { Instant, StoredRequest } from './types.js';
import type { Verdict } from './verdict.js';

/**
 * The only rule for what may happen to a request: total over status, move and actor. `now` is Postgres's instant after the row is locked. No other
 * code decides a move (requests.md section 7, ST-21).
 */
export function judge(request: StoredRequest, move: Move, now: Instant): Verdict {
  switch (move.kind) {
    case 'approve':
      return judgeApprove(request, move, now);
    case 'reject':
      return judgeReject(request, move, now);
    case 'cancel':
      return judgeCancel(request, move, now);
    case 'owner_gone':
      return judgeOwnerGone(request, move, now);
    case 'resume':
      return judgeResume(request, move, now);
    case 'claim':
      return judgeClaim(request, move, now);
    case 'result':
      return judgeResult(request, move, now);
    case 'lease':
      return judgeLease(request, move.executionId, now);
    case 'clock':
      return judgeClock(request, move.clock, now);
  }
}
