import type { Database } from '../db/client.js';
import { listRecorded, lockUnrecorded } from '../db/result-cleaning.js';
import { uuidPattern } from '../lib/uuid.js';
import type { ResultStore } from '../runtime/result-store.js';
import type { Job } from './job.js';
import { createRemovals, type Removals } from './removals.js';
import { inRounds } from './rounds.js';
import { requireSameClock } from './same-clock.js';

const everyMs = 6 * 3_600_000;
/** A younger object's submission may still be running. Also exceeds any difference between the store's clock and ours. */
const youngestMs = 3_600_000;
const batch = 200;

interface Found {
  key: string;
  requestId: string;
  executionId: string;
  /** Left by an interrupted write; nothing ever refers to it. */
  isPiece: boolean;
}

/**
 * Removes objects without a record, left by a crash or a lost race, within 24 h (RS-49). Touches only names that the gateway makes. A round
 * covers the whole store; an interrupted one starts over.
 */
export function createOrphanCleaner(options: {
  database: Database;
  results: ResultStore;
  signal: AbortSignal;
  everyMs?: number;
  youngestMs?: number;
}): Job {
  const { database, results, signal } = options;
  const removals = createRemovals();
  const oldest = () => Date.now() - (options.youngestMs ?? youngestMs);
  return inRounds(database, {
    name: 'orphan cleaner',
    everyMs: options.everyMs ?? everyMs,
    async part(goOn) {
      await requireSameClock(database);
      let found: Found[] = [];
      const failures: unknown[] = [];
      const passedOver = new Set(removals.failed());
      // Only a whole walk reaches what lies behind an object that cannot be removed.
      const cleanFound = () => clean(database, results, found, removals).catch((error: unknown) => failures.push(error));
      for await (const { key, modifiedAt } of results.objects()) {
        if (signal.aborted) return true;
        const own = modifiedAt < oldest() ? parseKey(key) : null;
        if (own !== null && !passedOver.has(key)) found.push(own);
        if (found.length < batch) continue;
        await cleanFound();
        await goOn();
        found = [];
      }
      await cleanFound();
      if (failures.length > 0) throw failures[0];
      removals.endRound();
      return false;
    },
  });
}

const ownKey = new RegExp(`^(${uuidPattern})/(${uuidPattern})(\\.${uuidPattern}\\.tmp)?$`);

function parseKey(key: string): Found | null {
  const [, requestId, executionId, piece] = ownKey.exec(key) ?? [];
  if (requestId === undefined || executionId === undefined) return null;
  return { key, requestId, executionId, isPiece: piece !== undefined };
}

async function clean(database: Database, results: ResultStore, found: readonly Found[], removals: Removals): Promise<void> {
  if (found.length === 0) return;
  const recorded = new Set(
    await listRecorded(
      database,
      found.map(({ executionId }) => executionId),
    ),
  );
  const orphans = found.filter(({ executionId, isPiece }) => isPiece || !recorded.has(executionId));
  const remove = async ({ key, requestId, executionId, isPiece }: Found) => {
    if (isPiece) return results.remove(key);
    // A submission takes this lock before it writes its record, and checks its object under it (RS-48).
    await database.transaction(async (tx) => {
      if (await lockUnrecorded(tx, requestId, executionId)) await results.remove(key);
    });
  };
  await removals.each(orphans, ({ key }) => key, remove);
}
