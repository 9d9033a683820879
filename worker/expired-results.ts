import type { Database } from '../db/client.js';
import { findInForce, holdsUnder } from '../db/generations.js';
import { type CleanedResult, deleteExpiredRows, deleteResult, listExpiredObjects } from '../db/result-cleaning.js';
import { listResultPairs } from '../db/result-list.js';
import { refusal } from '../domain/errors.js';
import type { SharedConfig } from '../domain/policies.js';
import { resultPolicyOf } from '../domain/workflow-policy.js';
import type { ResultStore } from '../runtime/result-store.js';
import { createBatchSize } from './batch-size.js';
import type { Job } from './job.js';
import { createRemovals } from './removals.js';
import { inRounds } from './rounds.js';
import { requireSameClock } from './same-clock.js';

/** A quarter of the hour within which an expired object must be gone (RS-60). */
const everyMs = 15 * 60_000;
const batch = 500;

/** Removes expired results: one whose data is in its row at once, any other by its object first, then its record (RS-60). */
export function createResultCleaner(options: {
  database: Database;
  results: ResultStore;
  /** `retention.result_ttl_days`. */
  resultTtlDays: () => number;
  everyMs?: number;
}): Job {
  const { database, results, resultTtlDays } = options;
  const removals = createRemovals();
  const inBatches = createBatchSize(batch);
  return inRounds(database, {
    name: 'result cleaner',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      await requireSameClock(database);
      const policies = await policiesInForce(database);
      const pairs = (await listResultPairs(database)).map((pair) => ({
        ...pair,
        retentionDays: resultPolicyOf(policies, pair, resultTtlDays()).retentionDays,
      }));
      // All of these go before the store is asked, which may be away (RS-63).
      if (await inBatches(async (limit) => (await deleteExpiredRows(database, pairs, limit)) === limit)) return true;
      const expired = await listExpiredObjects(database, pairs, batch, results.backend, removals.failed());
      const remove = async ({ executionId, key }: CleanedResult) => {
        await results.remove(key);
        await deleteResult(database, executionId);
      };
      await removals.each(expired, ({ executionId }) => executionId, remove);
      const more = expired.length === batch;
      if (!more) removals.endRound();
      return more;
    },
  });
}

/** Without the policies, what they keep for longer would go with the rest: a worker whose secret key was changed must remove nothing. */
async function policiesInForce(database: Database): Promise<SharedConfig['resultPolicies']> {
  const { inForce, rejected } = await findInForce(database, holdsUnder(database.macs));
  if (inForce === undefined && rejected.length > 0)
    throw refusal('service.unavailable', 'no configuration generation was written under the secret key of this process');
  return inForce?.content.resultPolicies ?? [];
}
