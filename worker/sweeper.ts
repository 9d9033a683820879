import type { Database } from '../db/client.js';
import { listOverdueLeases, nextLeaseEndInMs } from '../db/leases.js';
import { lockPairOf } from '../db/migration-pairs.js';
import { type Moved, move } from '../db/move.js';
import { tryLockRequest } from '../db/request-state.js';
import { judge } from '../domain/request/judge.js';
import { eachAlone } from './each-alone.js';
import type { Job } from './job.js';

const batch = 100;
const longestPauseMs = 2000;
const shortestPauseMs = 20;
/** Another process is judging the overdue leases. */
const busyPauseMs = 250;

/** Ends leases at the instant stored in Postgres (AG-51). A request whose agent fell silent becomes `execution_lost`. */
export function createSweeper(options: { database: Database; onMoved: (moved: Moved) => void }): Job {
  const { database } = options;
  return {
    name: 'sweeper',
    async once() {
      const overdue = await listOverdueLeases(database, batch);
      let ended = 0;
      await eachAlone(overdue, async ({ id, request_id }) => {
        if (await endLease(options, request_id, id)) ended += 1;
      });
      if (overdue.length > 0) return ended > 0 ? 0 : busyPauseMs;
      const nextMs = (await nextLeaseEndInMs(database)) ?? longestPauseMs;
      return Math.min(longestPauseMs, Math.max(shortestPauseMs, nextMs));
    },
  };
}

/** True if this process ended the lease. Skips a request that another process has locked; a heartbeat may also have just extended the lease. */
async function endLease(
  { database, onMoved }: { database: Database; onMoved: (moved: Moved) => void },
  requestId: string,
  executionId: string,
): Promise<boolean> {
  const moved = await database.transaction(async (tx) => {
    // The pair is always locked before the request.
    await lockPairOf(tx, requestId);
    if (!(await tryLockRequest(tx, requestId))) return null;
    return move(tx, requestId, (request, now) => judge(request, { kind: 'lease', executionId }, now), { lockExecution: true });
  });
  if (!moved?.changed) return false;
  onMoved(moved);
  return true;
}
