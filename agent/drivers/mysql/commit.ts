import { stopAfter } from '../../../lib/deadline.js';
import { failure, type Outcome } from '../../outcome.js';
import { type CommitEnd, lookUpCommit } from '../commit-probe.js';
import type { Run } from '../driver.js';
import type { MysqlWriteTarget } from './engine.js';
import type { MysqlSession } from './session.js';

/** Sends COMMIT and says what became of it; `success` is what is reported when the change is there. */
export async function commitMysql(session: MysqlSession, run: Run, target: MysqlWriteTarget, success: Outcome): Promise<Outcome> {
  const end = await settleCommit(session, run, target, null);
  if (end.found === 'committed') return success;
  const why = target.engine.errors.errorText(end.error);
  return end.found === 'rolled_back' ? failure('rolled_back', why) : failure('unknown', `commit outcome unknown: ${why}`);
}

/**
 * Sends COMMIT. After an error of any kind only what it would have left tells, which is asked on new connections: the marker row, and what
 * `ask` finds. The server has no other word about a transaction that ended (AP-37).
 */
export async function settleCommit(
  session: MysqlSession,
  run: Run,
  target: MysqlWriteTarget,
  ask: ((other: MysqlSession) => Promise<'committed' | null>) | null,
): Promise<CommitEnd> {
  try {
    await sendCommit(session, run, target);
    return { found: 'committed' };
  } catch (error) {
    session.destroy();
    if (!run.marker && ask === null) return { found: 'unknown', error };
    return { found: await lookUpCommit(run, target, ask ?? (async () => null)), error };
  }
}

/** COMMIT with a deadline after which the connection ends. */
export async function sendCommit(session: MysqlSession, run: Run, { timings }: MysqlWriteTarget): Promise<void> {
  await stopAfter(
    Math.max(run.timeoutSecs * 1000, timings.commitProbeMs),
    () => session.destroy(),
    () => session.run('commit'),
  );
}
