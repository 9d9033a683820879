import { stopAfter } from '../../lib/deadline.js';
import { CancelControl } from '../cancel-control.js';
import { failure, type Outcome } from '../outcome.js';
import { cancelStatement, waitUntilGone } from './cancel.js';
import type { Run } from './driver.js';
import type { Attempt, ErrorReader, Target } from './engine.js';
import { Interrupted } from './faults.js';
import type { Session } from './session.js';

/** Stops the run when its cancel flag is set (AP-44). */
export function checkFlag(run: Run): void {
  if (run.control.requested) throw new Interrupted();
}

/** Runs `work` with an attempt that ignores user cancels; only agent shutdown interrupts it (MI-34, AP-18). */
export async function heedOnlyStop<A extends { run: Run }, T>(attempt: A, work: (heeding: A) => Promise<T>): Promise<T> {
  const control = new CancelControl();
  const onStop = () => control.request('stopped');
  const heeding = { ...attempt, run: { ...attempt.run, control } };
  return await stopAfter(Number.POSITIVE_INFINITY, onStop, () => work(heeding), attempt.run.control.ending);
}

/** Runs `work`; the cancel flag interrupts the session meanwhile. The client's own deadline sets that flag too. */
export async function interruptible<S extends Session, T>(
  { session, run, target }: Attempt<S>,
  work: () => Promise<T>,
): Promise<T> {
  checkFlag(run);
  const { timings } = target;
  const ended = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  if (run.timeoutSecs > 0) {
    timers.push(setTimeout(() => run.control.request('deadline'), run.timeoutSecs * 1000 + target.graceMs));
  }
  let cancelling: Promise<void> = Promise.resolve();
  const begin = () => {
    timers.push(setTimeout(() => session.destroy(), timings.cancelGiveUpMs));
    cancelling = cancelStatement(session, target, ended.signal);
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

/** The time limit of what the agent asks before a run whose statements have none. */
const PREPARE_SECS = 60;

/**
 * Runs what the agent itself asks before a run: for locks, markers and versions. Others can lock those tables, and a connection that
 * was idle may be dead, so it heeds the cancel flag and has a time limit, like the run's statements (AP-42, AP-20).
 */
export async function preparing<S extends Session, T>(attempt: Attempt<S>, ask: () => Promise<T>): Promise<T> {
  const { run, target } = attempt;
  try {
    return await interruptible({ ...attempt, run: { ...run, timeoutSecs: run.timeoutSecs || PREPARE_SECS } }, ask);
  } catch (error) {
    throw run.control.requested && target.engine.errors.isInterrupt(error) ? new Interrupted() : error;
  }
}

/**
 * ROLLBACK; null when the server did not acknowledge it. A late cancel can hit the ROLLBACK itself, so it is sent up to three
 * times.
 */
export async function rollBack<S extends Session>(session: S, { engine }: Target<S>): Promise<'undone' | 'kept' | null> {
  for (let attempt = 0; attempt < 3 && !session.lost; attempt++) {
    try {
      return await engine.rollBack(session);
    } catch {
      // Try again, unless the connection is gone.
    }
  }
  return null;
}

/** How a transaction ended that failed before its COMMIT was sent; `kept`: non-transactional tables kept their changes. */
export type Undone = 'rolled_back' | 'cancelled' | 'cancel not confirmed' | 'kept';

/** Rolls back a failed run's transaction. Nothing else can have happened to it, but a rollback is reported only once proven. */
export async function undo<S extends Session>(error: unknown, { session, run, target }: Attempt<S>): Promise<Undone> {
  const rolledBack = await rollBack(session, target);
  if (rolledBack === 'kept') return 'kept';
  if (!run.control.requested) return 'rolled_back';
  if (!(error instanceof Interrupted || target.engine.errors.isInterrupt(error) || rolledBack === null)) return 'rolled_back';
  const until = performance.now() + target.timings.cancelGiveUpMs;
  return rolledBack !== null || (await waitUntilGone(session, target, until)) ? 'cancelled' : 'cancel not confirmed';
}

/** The outcome of a run that failed before its COMMIT was sent. */
export async function failedRun<S extends Session>(error: unknown, attempt: Attempt<S>, begunAt: number): Promise<Outcome> {
  const { control, timeoutSecs } = attempt.run;
  switch (await undo(error, attempt)) {
    case 'kept': {
      const why = control.requested ? 'driver error: query cancelled' : runErrorText(error, attempt, begunAt);
      return failure('partial', `${why}; changes in tables without transactions stay`);
    }
    case 'cancelled':
      return control.confirmed('rolled_back', timeoutSecs);
    case 'cancel not confirmed':
      return failure('unknown', 'driver error: cancel not confirmed');
    case 'rolled_back':
      return failure('rolled_back', runErrorText(error, attempt, begunAt));
  }
}

/** The text of agent-process.md section 11; covers the server's own timeout too. */
export function runErrorText<S extends Session>(error: unknown, { run, target }: Attempt<S>, begunAt: number): string {
  const { errors } = target.engine;
  const timedOut = errors.isTimeout(error, run, performance.now() - begunAt);
  return timedOut ? `driver error: query timed out after ${run.timeoutSecs}s` : errors.errorText(error);
}

/** The outcome of a run that failed before any of it reached the database. */
export function notStarted(error: unknown, run: Run, errors: ErrorReader): Outcome {
  if (error instanceof Interrupted) return run.control.confirmed('not_started', run.timeoutSecs || PREPARE_SECS);
  return failure('not_started', errors.errorText(error));
}
