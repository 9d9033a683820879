import { CancelControl } from '../cancel-control.js';
import type { Attempt, Target } from '../drivers/engine.js';
import { interruptible, rollBack } from '../drivers/guard.js';
import type { Session } from '../drivers/session.js';
import type { OneMigration, StepFailure } from './engine.js';
import { partiallyApplied } from './failures.js';
import { failed } from './results.js';

/** The version row's time limit when statements have none; nobody can cancel it. */
const VERSION_ROW_SECS = 60;

interface Parts<A, W> {
  /** Begins a transaction, and writes version row and marker row in it. Both functions run with a time limit. */
  write: (bounded: A) => Promise<W>;
  commit: (bounded: A, written: W) => Promise<StepFailure | null>;
}

/** Writes the version row of a migration already in effect; a failure to write it is reported (MI-38, MI-39). */
export async function recordApplied<S extends Session, T extends Target<S>, W>(
  attempt: Attempt<S, T>,
  { migration, direction }: OneMigration,
  { write, commit }: Parts<Attempt<S, T>, W>,
): Promise<StepFailure | null> {
  const { session, run, target } = attempt;
  const timeoutSecs = run.timeoutSecs || VERSION_ROW_SECS;
  const bounded = { ...attempt, run: { ...run, timeoutSecs, control: new CancelControl() } };
  const partial = (reason: string, error: unknown): StepFailure => ({
    failure: failed('partial', partiallyApplied(migration.version, direction, reason)),
    error,
  });
  let written: W;
  try {
    written = await interruptible(bounded, () => write(bounded));
  } catch (error) {
    await rollBack(session, target);
    return partial(target.engine.errors.reason(error), error);
  }
  const failure = await commit(bounded, written);
  return failure?.failure.outcome === 'rolled_back' ? partial(failure.failure.why, failure.error) : failure;
}
