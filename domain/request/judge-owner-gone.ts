import { cancelByWish } from './judge-cancel.js';
import type { Move } from './moves.js';
import type { Instant, StoredRequest } from './types.js';
import { nothing, type Verdict } from './verdict.js';

type OwnerGone = Extract<Move, { kind: 'owner_gone' }>;

const reasons = { user_suspended: 'user suspended', user_deleted: 'user deleted' } as const satisfies Record<
  OwnerGone['cause'],
  string
>;

/** ST-19: the owner was suspended or deleted, so all their unfinished requests are cancelled. Finished ones stay as they are. */
export function judgeOwnerGone(request: StoredRequest, { actor, cause }: OwnerGone, now: Instant): Verdict {
  return cancelByWish(request, { by: actor.id, reason: reasons[cause], cause }, actor, now) ?? nothing;
}
