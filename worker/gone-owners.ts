import type { Database } from '../db/client.js';
import { type MovedOne, moveAllOf } from '../db/move-many.js';
import { findGoneOwner } from '../db/open-requests.js';
import { lockGone } from '../db/users.js';
import { systemActor } from '../domain/audit/draft.js';
import { judge } from '../domain/request/judge.js';
import type { StoredRequest } from '../domain/request/types.js';
import { countEntries } from '../runtime/entry-metrics.js';
import type { Metrics } from '../runtime/metrics.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const everyMs = 60_000;
/** By then the call has been answered (HT-131). */
const overSecs = 60;
/** How many requests end in one transaction. */
const batch = 500;

const causes = { suspended: 'user_suspended', deleted: 'user_deleted' } as const;

/** Cancels what suspended and deleted users still have open because the call that ended them broke off (IM-65). Finds nothing while all is well. */
export function createGoneOwners(options: { database: Database; metrics: Metrics; everyMs?: number }): Job {
  const { database, metrics } = options;
  return inRounds(database, {
    name: 'requests of gone owners',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      const owner = await findGoneOwner(database, overSecs);
      if (owner === undefined) return false;
      countEntries(metrics, await endSome(database, owner.id, causes[owner.status]));
      return true;
    },
  });
}

function endSome(database: Database, owner: string, cause: (typeof causes)[keyof typeof causes]): Promise<MovedOne[]> {
  const decide = (request: StoredRequest, now: number) => judge(request, { kind: 'owner_gone', actor: systemActor, cause }, now);
  return database.transaction(async (tx) =>
    (await lockGone(tx, owner)) ? moveAllOf(tx, owner, decide, { unasked: true, limit: batch }) : [],
  );
}
