import { stopAfter } from '../../../lib/deadline.js';
import { failure, type Outcome } from '../../outcome.js';
import { type CommitEnd, lookUpCommit } from '../commit-probe.js';
import type { MysqlAttempt } from './engine.js';
import type { MysqlSession } from './session.js';

/** Sends COMMIT and returns how it ended; `success` is returned when the change was committed. */
export async function commitMysql(attempt: MysqlAttempt, success: Outcome): Promise<Outcome> {
  const end = await settleCommit(attempt, null);
  if (end.found === 'committed') return success;
  const why = attempt.target.engine.errors.errorText(end.error);
  return end.found === 'rolled_back' ? failure('rolled_back', why) : failure('unknown', `commit outcome unknown: ${why}`);
}

/**
 * Sends COMMIT. After any error, only what the commit would have left can tell: new connections look for the marker row and what
 * `ask` finds. The server keeps no other record of an ended transaction (AP-37).
 */
export async function settleCommit(
  attempt: MysqlAttempt,
  ask: ((other: MysqlSession) => Promise<'committed' | null>) | null,
): Promise<CommitEnd> {
  const { session, run, target } = attempt;
  const readOwn = target.marker.ownReader();
  try {
    await sendCommit(attempt);
    return { found: 'committed' };
  } catch (error) {
    session.destroy();
    if (!run.marker && ask === null) return { found: 'unknown', error };
    return { found: await lookUpCommit(attempt, { readOwn, ask: ask ?? (async () => null) }), error };
  }
}

/** Sends COMMIT; ends the connection at the deadline. */
export async function sendCommit({ session, run, target: { timings } }: MysqlAttempt): Promise<void> {
  await stopAfter(
    Math.max(run.timeoutSecs * 1000, timings.commitProbeMs),
    () => session.destroy(),
    () => session.run('commit'),
  );
}
