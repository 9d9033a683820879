import { failure, type Outcome } from '../../outcome.js';
import { type CommitEnd, lookUpCommit } from '../commit-probe.js';
import type { Run } from '../driver.js';
import type { PostgresWriteTarget } from './engine.js';
import type { PostgresSession } from './session.js';

/** Sends COMMIT and says what became of it; `success` is what is reported when the change is there. */
export async function commit(
  session: PostgresSession,
  run: Run,
  target: PostgresWriteTarget,
  transactionId: string | null,
  success: Outcome,
): Promise<Outcome> {
  const end = await settleCommit(session, run, target, (other) => transactionStatus(other, transactionId));
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
  const timer = setTimeout(() => session.destroy(), Math.max(run.timeoutSecs * 1000, target.timings.commitProbeMs));
  try {
    const [result] = await session.exchange([{ kind: 'run', text: 'commit' }]);
    return result?.tag === 'COMMIT' ? { found: 'committed' } : { found: 'rolled_back', error: null };
  } catch (error) {
    if (target.engine.errors.isServerError(error)) return { found: 'rolled_back', error };
    session.destroy();
    return { found: await lookUpCommit(run, target, ask), error };
  } finally {
    clearTimeout(timer);
  }
}

/** What the server knows of a transaction by its id, null when it does not. */
export async function transactionStatus(
  session: PostgresSession,
  id: string | null,
): Promise<'committed' | 'rolled_back' | null> {
  if (id === null) return null;
  const [row] = await session.query('select pg_catalog.pg_xact_status($1::xid8)', [id]).catch(() => []);
  if (row?.[0] === 'committed') return 'committed';
  return row?.[0] === 'aborted' ? 'rolled_back' : null;
}
