import { CancelControl } from '../cancel-control.js';
import type { Run } from '../drivers/driver.js';
import type { Target } from '../drivers/engine.js';
import { interruptible, rollBack } from '../drivers/guard.js';
import type { Session } from '../drivers/session.js';
import type { OneMigration, StepFailure } from './dialect.js';
import { partiallyApplied } from './failures.js';
import { failed } from './results.js';

/** The version row's time limit when statements have none; nobody can cancel it. */
const VERSION_ROW_SECS = 60;

interface Parts<W> {
  /** Begins a transaction, and writes version row and marker row in it. Both functions run with a time limit. */
  write: (run: Run) => Promise<W>;
  commit: (run: Run, written: W) => Promise<StepFailure | null>;
}

/** Writes the version row of a migration already in effect; a failure to write it is reported (MI-38, MI-39). */
export async function recordApplied<S extends Session, W>(
  session: S,
  run: Run,
  { migration, direction }: OneMigration,
  target: Target<S>,
  { write, commit }: Parts<W>,
): Promise<StepFailure | null> {
  const bounded = { ...run, timeoutSecs: run.timeoutSecs || VERSION_ROW_SECS, control: new CancelControl() };
  const partial = (reason: string, error: unknown): StepFailure => ({
    failure: failed('partial', partiallyApplied(migration.version, direction, reason)),
    error,
  });
  let written: W;
  try {
    written = await interruptible(session, bounded, target, () => write(bounded));
  } catch (error) {
    await rollBack(session, target);
    return partial(target.engine.errors.reason(error), error);
  }
  const failure = await commit(bounded, written);
  return failure?.failure.outcome === 'rolled_back' ? partial(failure.failure.why, failure.error) : failure;
}
