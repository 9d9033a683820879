import { stopAfter } from '../../../lib/deadline.js';
import { failure, type Outcome } from '../../outcome.js';
import { type CommitEnd, lookUpCommit } from '../commit-probe.js';
import type { Run } from '../driver.js';
import type { PostgresWriteTarget } from './engine.js';
import type { Step, StepResult } from './exchange.js';
import type { PostgresSession } from './session.js';

/** Sends COMMIT and says what became of it; `success` is what is reported when the change is there. */
export async function commit(
  session: PostgresSession,
  run: Run,
  target: PostgresWriteTarget,
  transaction: TransactionId,
  success: Outcome,
): Promise<Outcome> {
  const end = await settleCommit(session, run, target, (other) => transactionStatus(other, transaction));
  if (end.found === 'committed') return success;
  const why = end.error === null ? `driver error: query failed: ${ROLLED_BACK}` : target.engine.errors.errorText(end.error);
  return end.found === 'rolled_back' ? failure('rolled_back', why) : failure('unknown', `commit outcome unknown: ${why}`);
}

/** Words for a COMMIT that the server answered with a rollback. */
export const ROLLED_BACK = 'the database rolled the transaction back';

/** Sends COMMIT; when its answer is lost, `ask` and the marker row are asked on new connections (AP-37). */
export async function settleCommit(
  session: PostgresSession,
  run: Run,
  target: PostgresWriteTarget,
  ask: (other: PostgresSession) => Promise<'committed' | 'rolled_back' | null>,
): Promise<CommitEnd> {
  const commitMs = Math.max(run.timeoutSecs * 1000, target.timings.commitProbeMs);
  const send = () => session.exchange([{ kind: 'run', text: 'commit' }]);
  try {
    const [result] = await stopAfter(commitMs, () => session.destroy(), send);
    return result?.tag === 'COMMIT' ? { found: 'committed' } : { found: 'rolled_back', error: null };
  } catch (error) {
    if (target.engine.errors.isServerError(error)) return { found: 'rolled_back', error };
    session.destroy();
    return { found: await lookUpCommit(run, target, ask), error };
  }
}

/**
 * What the server calls a transaction; `id` is null while it has written nothing. A crash takes back the ids that were not on disk and gives
 * them to others: an id means the same only as long as `since`, the instant at which a crash empties the server's statistics.
 */
export interface TransactionId {
  id: string | null;
  since: string | null;
}

/** Asks for the id of the transaction there is; its result is read by `transactionIdOf`. */
export const askTransactionId: Step = {
  kind: 'run',
  text: 'select pg_catalog.pg_current_xact_id_if_assigned()::text, pg_catalog.pg_stat_get_bgwriter_stat_reset_time()::text',
};

export function transactionIdOf(result: StepResult | undefined): TransactionId {
  const [id = null, since = null] = result?.rows[0] ?? [];
  return { id, since };
}

/** What the server knows of a transaction by its id, null when it does not. What has committed is on disk with its id: `aborted` is true of it after a crash as well. */
export async function transactionStatus(
  session: PostgresSession,
  { id, since }: TransactionId,
): Promise<'committed' | 'rolled_back' | null> {
  if (id === null) return null;
  const sql = `select pg_catalog.pg_xact_status($1::xid8), pg_catalog.pg_stat_get_bgwriter_stat_reset_time()::text`;
  const [status, sinceNow] = (await session.query(sql, [id]).catch(() => []))[0] ?? [];
  if (status === 'aborted') return 'rolled_back';
  return status === 'committed' && since !== null && since === sinceNow ? 'committed' : null;
}
