import type { Database } from '../db/client.js';
import { listPurgeableWithObjects, lockPurgeable, purgeRequests, purgeTokens } from '../db/purge.js';
import { deleteResult } from '../db/result-cleaning.js';
import { purgeOnboardings } from '../db/slack-onboardings.js';
import type { ResultStore } from '../runtime/result-store.js';
import { createBatchSize } from './batch-size.js';
import type { Job } from './job.js';
import { createRemovals } from './removals.js';
import { inRounds } from './rounds.js';
import { requireSameClock } from './same-clock.js';

const everyMs = 3_600_000;
/** Rows per transaction (operations.md section 9). */
const batch = 1000;
/** Requests with objects; each has its own transaction. */
const batchWithObjects = 100;
/** Objects removed in parallel while the request is locked. */
const objectsAtOnce = 20;

/** Purges requests whose retention is over, with all their rows and objects (ST-20, RS-61), old revoked tokens (IM-17) and onboardings. */
export function createPurge(options: {
  database: Database;
  results: ResultStore;
  /** `retention.request_ttl_days`. */
  requestTtlDays: () => number;
  everyMs?: number;
}): Job {
  const { database, results, requestTtlDays } = options;
  const removals = createRemovals();
  const inBatches = createBatchSize(batch);
  return inRounds(database, {
    name: 'purge',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      await requireSameClock(database);
      const days = requestTtlDays();
      const tokens = await purgeTokens(database, days, batch);
      const onboardings = await purgeOnboardings(database, days, batch);
      const isFull = await inBatches((limit) =>
        database.transaction(async (tx) => (await purgeRequests(tx, days, limit)) === limit),
      );
      const others = await listPurgeableWithObjects(database, days, results.backend, batchWithObjects, removals.failed());
      let removed = 0;
      const purge = async (id: string) => {
        removed += await purgeWithObjects(database, results, days, id);
      };
      await removals.each(others, (id) => id, purge);
      // The next part purges the requests whose objects were removed now.
      const more = tokens === batch || onboardings === batch || isFull || removed > 0;
      if (!more) removals.endRound();
      return more;
    },
  });
}

/** Removes objects while the request is locked, so that it cannot run again meanwhile (RS-61). Returns how many. */
async function purgeWithObjects(database: Database, results: ResultStore, days: number, id: string): Promise<number> {
  return database.transaction(async (tx) => {
    const stored = await lockPurgeable(tx, days, id, objectsAtOnce);
    if (stored === null) return 0;
    await Promise.all(stored.map(({ key }) => results.remove(key)));
    for (const { executionId } of stored) await deleteResult(tx, executionId);
    return stored.length;
  });
}
