import { failure, type Outcome } from '../outcome.js';
import { lookUpCommit } from './commit-probe.js';
import type { Run } from './driver.js';
import type { PostgresWriteTarget } from './postgres-engine.js';
import type { PostgresSession } from './postgres-session.js';

/** Sends COMMIT and says what became of it; `success` is what is reported when the change is there. */
export async function commit(
  session: PostgresSession,
  run: Run,
  target: PostgresWriteTarget,
  transactionId: string | null,
  success: Outcome,
): Promise<Outcome> {
  const { timings } = target;
  const { errors } = target.engine;
  const timer = setTimeout(() => session.destroy(), Math.max(run.timeoutSecs * 1000, timings.commitProbeMs));
  try {
    const [result] = await session.exchange([{ kind: 'run', text: 'commit' }]);
    if (result?.tag === 'COMMIT') return success;
    return failure('rolled_back', 'driver error: query failed: the database rolled the transaction back');
  } catch (error) {
    if (errors.isServerError(error)) return failure('rolled_back', errors.errorText(error));
    session.destroy();
    const found = await lookUpCommit(run, target, (other) => transactionStatus(other, transactionId));
    if (found === 'committed') return success;
    if (found === 'rolled_back') return failure('rolled_back', errors.errorText(error));
    return failure('unknown', `commit outcome unknown: ${errors.errorText(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

async function transactionStatus(session: PostgresSession, id: string | null): Promise<'committed' | 'rolled_back' | null> {
  if (id === null) return null;
  const [row] = await session.query('select pg_catalog.pg_xact_status($1::xid8)', [id]).catch(() => []);
  if (row?.[0] === 'committed') return 'committed';
  return row?.[0] === 'aborted' ? 'rolled_back' : null;
}
