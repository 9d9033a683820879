import { failure, type Outcome } from '../outcome.js';
import type { Timings } from '../timings.js';
import type { Run } from './driver.js';
import { cancelStatement, waitUntilBackendGone } from './postgres-cancel.js';
import { asServerError, errorText } from './postgres-errors.js';
import type { PostgresSession, SessionPool } from './postgres-session.js';

export interface Target {
  pool: SessionPool;
  timings: Timings;
}

/** The cancel flag was found set between two statements. */
export class Interrupted extends Error {}

/** Stops the run when its cancel flag is set (AP-44). */
export function checkFlag(run: Run): void {
  if (run.control.requested) throw new Interrupted();
}

/** Runs `work` while the cancel flag interrupts the session; the client's own deadline sets that flag too. */
export async function interruptible<T>(session: PostgresSession, run: Run, target: Target, work: () => Promise<T>): Promise<T> {
  checkFlag(run);
  const { timings } = target;
  const ended = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  if (run.timeoutSecs > 0) {
    timers.push(setTimeout(() => run.control.request('deadline'), run.timeoutSecs * 1000 + timings.deadlineGraceMs));
  }
  let cancelling: Promise<void> = Promise.resolve();
  const begin = () => {
    timers.push(setTimeout(() => session.destroy(), timings.cancelGiveUpMs));
    cancelling = cancelStatement(session, target.pool, timings, ended.signal);
  };
  run.control.signal.addEventListener('abort', begin, { once: true });
  try {
    return await work();
  } finally {
    run.control.signal.removeEventListener('abort', begin);
    for (const timer of timers) clearTimeout(timer);
    ended.abort();
    cancelling.catch(() => {});
  }
}

/** ROLLBACK; true when the server acknowledged it. A late cancel can hit the ROLLBACK itself, so it is sent up to three times. */
export async function rollBack(session: PostgresSession): Promise<boolean> {
  for (let attempt = 0; attempt < 3 && !session.lost; attempt++) {
    try {
      await session.query('rollback');
      return true;
    } catch {
      // Asked again, or the connection is gone.
    }
  }
  return false;
}

/**
 * The outcome of a run that failed before its COMMIT was sent: the transaction can only have ended in a rollback, which is reported once it is proven.
 */
export async function failedRun(
  error: unknown,
  session: PostgresSession,
  run: Run,
  target: Target,
  begunAt: number,
): Promise<Outcome> {
  const rolledBack = await rollBack(session);
  const { control } = run;
  const interrupted = error instanceof Interrupted || asServerError(error)?.code === '57014';
  if (control.requested && (interrupted || !rolledBack)) {
    const until = performance.now() + target.timings.cancelGiveUpMs;
    const gone = rolledBack || (await waitUntilBackendGone(session.processId, target.pool, target.timings, until));
    return gone ? control.confirmed('rolled_back', run.timeoutSecs) : failure('unknown', 'driver error: cancel not confirmed');
  }
  return failure('rolled_back', runErrorText(error, run, begunAt));
}

/** Text of section 11; an interrupt that nobody here asked for is the server's own timeout once that long has passed. */
export function runErrorText(error: unknown, run: Run, begunAt: number): string {
  const timedOut = run.timeoutSecs > 0 && performance.now() - begunAt >= run.timeoutSecs * 1000 - 50;
  if (asServerError(error)?.code === '57014' && timedOut) return `driver error: query timed out after ${run.timeoutSecs}s`;
  return errorText(error);
}

/** The outcome of a run that failed before anything of it reached the database. */
export function notStarted(error: unknown, run: Run): Outcome {
  if (error instanceof Interrupted) return run.control.confirmed('not_started', run.timeoutSecs);
  return failure('not_started', errorText(error));
}
