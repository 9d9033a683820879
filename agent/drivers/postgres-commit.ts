import { requestLockKey } from '../marker.js';
import { failure, type Outcome } from '../outcome.js';
import { sleep } from '../wait.js';
import type { Run } from './driver.js';
import { asServerError, errorText, isConnectivityError } from './postgres-errors.js';
import type { Target } from './postgres-guard.js';
import type { PostgresMarker } from './postgres-marker.js';
import type { PostgresSession } from './postgres-session.js';

/** Sends COMMIT and says what became of it; `success` is what is reported when the change is there. */
export async function commit(
  session: PostgresSession,
  run: Run,
  target: Target & { marker: PostgresMarker },
  transactionId: string | null,
  success: Outcome,
): Promise<Outcome> {
  const { timings } = target;
  const timer = setTimeout(() => session.destroy(), Math.max(run.timeoutSecs * 1000, timings.commitProbeMs));
  try {
    const [result] = await session.exchange([{ kind: 'run', text: 'commit' }]);
    if (result?.tag === 'COMMIT') return success;
    return failure('rolled_back', 'driver error: query failed: the database rolled the transaction back');
  } catch (error) {
    if (asServerError(error) && !isConnectivityError(error)) return failure('rolled_back', errorText(error));
    session.destroy();
    const found = await lookUpCommit(run, target, transactionId);
    if (found === 'committed') return success;
    if (found === 'rolled_back') return failure('rolled_back', errorText(error));
    return failure('unknown', `commit outcome unknown: ${errorText(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks on new connections whether a transaction was committed, until that is known or the time is over (AP-37). */
async function lookUpCommit(
  run: Run,
  target: Target & { marker: PostgresMarker },
  transactionId: string | null,
): Promise<'committed' | 'rolled_back' | 'unknown'> {
  const until = performance.now() + target.timings.commitProbeMs;
  while (performance.now() < until) {
    try {
      const session = await target.pool.open();
      try {
        const found = await probeCommit(session, run, target.marker, transactionId);
        if (found !== null) return found;
      } finally {
        await session.release();
      }
    } catch {
      // The database may be coming back; the next round asks again.
    }
    await sleep(target.timings.commitProbeEveryMs);
  }
  return 'unknown';
}

async function probeCommit(session: PostgresSession, run: Run, marker: PostgresMarker, transactionId: string | null) {
  if (run.marker && (await isDone(session, run, marker))) return 'committed' as const;
  if (transactionId !== null) {
    const [row] = await session.query('select pg_catalog.pg_xact_status($1::xid8)', [transactionId]).catch(() => []);
    if (row?.[0] === 'committed') return 'committed' as const;
    if (row?.[0] === 'aborted') return 'rolled_back' as const;
  }
  if (!run.marker || !(await tryRequestLock(session, run.requestId))) return null;
  // The old transaction can end between the two looks; once its lock is free, it has.
  return (await isDone(session, run, marker)) ? ('committed' as const) : ('rolled_back' as const);
}

async function isDone(session: PostgresSession, run: Run, marker: PostgresMarker): Promise<boolean> {
  const rows = await marker.read(session, run.requestId);
  return rows.some((row) => row.fence === run.fence && row.state === 'done');
}

/** Takes the request lock if it is free; it lasts until the session is reset (AP-53). */
export async function tryRequestLock(session: PostgresSession, requestId: string): Promise<boolean> {
  const rows = await session.query('select pg_catalog.pg_try_advisory_lock($1::bigint)', [String(requestLockKey(requestId))]);
  return rows[0]?.[0] === 't';
}
