import { stopAfter } from '../../../lib/deadline.js';
import { failure, type Outcome } from '../../outcome.js';
import { type CommitEnd, lookUpCommit } from '../commit-probe.js';
import { rollBack } from '../guard.js';
import type { PostgresAttempt } from './engine.js';
import type { Step, StepResult } from './exchange.js';
import { durablyAgain } from './select.js';
import type { PostgresSession } from './session.js';

/** Sends COMMIT and returns how it ended; `success` is returned when the change was committed. */
export async function commit(attempt: PostgresAttempt, transaction: TransactionId, success: Outcome): Promise<Outcome> {
  const end = await settleCommit(attempt, (other) => transactionStatus(other, transaction));
  if (end.found === 'committed') return success;
  const why =
    end.error === null ? `driver error: query failed: ${ROLLED_BACK}` : attempt.target.engine.errors.errorText(end.error);
  return end.found === 'rolled_back' ? failure('rolled_back', why) : failure('unknown', `commit outcome unknown: ${why}`);
}

/** Words for a COMMIT that the server answered with a rollback. */
export const ROLLED_BACK = 'the database rolled the transaction back';

/** Sends COMMIT; when its answer is lost or the server ends with it, `ask` and the marker row are checked on new connections (AP-37). */
export async function settleCommit(
  attempt: PostgresAttempt,
  ask: (other: PostgresSession) => Promise<'committed' | 'rolled_back' | null>,
): Promise<CommitEnd> {
  const { session, run, target } = attempt;
  const commitMs = Math.max(run.timeoutSecs * 1000, target.timings.commitProbeMs);
  const readOwn = target.marker.ownReader();
  const send = () => session.exchange(commitSteps);
  try {
    const results = await stopAfter(commitMs, () => session.destroy(), send);
    return results.at(-1)?.tag === 'COMMIT' ? { found: 'committed' } : { found: 'rolled_back', error: null };
  } catch (error) {
    // A server that dies says so with an error, too, after it may have written the commit. One that goes on has rolled back.
    const goesOn = () =>
      stopAfter(
        commitMs,
        () => session.destroy(),
        () => rollBack(session, target),
      );
    if (target.engine.errors.isServerError(error) && (await goesOn()) !== null) return { found: 'rolled_back', error };
    session.destroy();
    return { found: await lookUpCommit(attempt, { readOwn, ask }), error };
  }
}

/** A text, trigger or function may have made COMMIT answer before the change is on disk. */
const commitSteps = [`select ${durablyAgain}`, 'commit'].map((text): Step => ({ kind: 'run', text }));

/**
 * The server's id of a transaction in a cluster; `id` is null until the transaction writes. A crash loses ids not yet on disk and reuses them,
 * so it says "committed" of this transaction only while `since` is unchanged: a crash resets the server's statistics at that instant.
 */
export interface TransactionId {
  cluster: string | null;
  id: string | null;
  since: string | null;
}

/** Asks for the open transaction's id; read the result with `transactionIdOf`. */
export const askTransactionId: Step = {
  kind: 'run',
  text: 'select pg_catalog.pg_current_xact_id_if_assigned()::text, pg_catalog.pg_stat_get_bgwriter_stat_reset_time()::text',
};

export function transactionIdOf({ backend }: PostgresSession, result: StepResult | undefined): TransactionId {
  const [id = null, since = null] = result?.rows[0] ?? [];
  return { cluster: backend.cluster, id, since };
}

/**
 * The server's status of a transaction by id; null when unknown. A committed transaction is on disk with its id, so `aborted` is
 * reliable after a crash as well, but not in another cluster, to which the change may have been copied.
 */
export async function transactionStatus(
  session: PostgresSession,
  { cluster, id, since }: TransactionId,
): Promise<'committed' | 'rolled_back' | null> {
  if (id === null) return null;
  const sql = `select pg_catalog.pg_xact_status($1::xid8), pg_catalog.pg_stat_get_bgwriter_stat_reset_time()::text`;
  const [status, sinceNow] = (await session.query(sql, [id]).catch(() => []))[0] ?? [];
  if (status === 'aborted') return cluster !== null && session.backend.cluster === cluster ? 'rolled_back' : null;
  return status === 'committed' && since !== null && since === sinceNow ? 'committed' : null;
}
