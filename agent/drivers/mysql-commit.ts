import { failure, type Outcome } from '../outcome.js';
import { lookUpCommit } from './commit-probe.js';
import type { Run } from './driver.js';
import type { MysqlWriteTarget } from './mysql-engine.js';
import type { MysqlSession } from './mysql-session.js';

/**
 * Sends COMMIT and says what became of it; `success` is what is reported when the change is there. After an error of any kind only the
 * marker row tells: the server has no other word about a transaction that ended (AP-37).
 */
export async function commitMysql(session: MysqlSession, run: Run, target: MysqlWriteTarget, success: Outcome): Promise<Outcome> {
  const { errors } = target.engine;
  try {
    await sendCommit(session, run, target);
    return success;
  } catch (error) {
    session.destroy();
    const found = run.marker ? await lookUpCommit(run, target, async () => null) : 'unknown';
    if (found === 'committed') return success;
    if (found === 'rolled_back') return failure('rolled_back', errors.errorText(error));
    return failure('unknown', `commit outcome unknown: ${errors.errorText(error)}`);
  }
}

/** COMMIT with a deadline after which the connection ends. */
export async function sendCommit(session: MysqlSession, run: Run, { timings }: MysqlWriteTarget): Promise<void> {
  const timer = setTimeout(() => session.destroy(), Math.max(run.timeoutSecs * 1000, timings.commitProbeMs));
  try {
    await session.run('commit');
  } finally {
    clearTimeout(timer);
  }
}
