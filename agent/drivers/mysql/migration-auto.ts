import type { MigrationStatement } from '../../../sql/migration-text.js';
import type { OneMigration, StepFailure } from '../../migrations/engine.js';
import { cancelFailure, halfApplied, positionOf, whyFailed } from '../../migrations/failures.js';
import { failed } from '../../migrations/results.js';
import { recordApplied } from '../../migrations/version-row.js';
import { Interrupted } from '../faults.js';
import { checkFlag, heedOnlyStop, interruptible, rollBack } from '../guard.js';
import { sendCommit } from './commit.js';
import type { MysqlAttempt } from './engine.js';
import { canEndHalfDone, canOutliveInterrupt } from './half-done.js';
import { commitMigration, recordVersion } from './migration-tx.js';
import { runToEnd } from './told-failure.js';

/** Runs a migration's statements one by one, each with its own commit, then writes its version row (MI-39). */
export async function runMigrationOneByOne(attempt: MysqlAttempt, one: OneMigration): Promise<StepFailure | null> {
  const { session, run, target } = attempt;
  try {
    if (run.marker) await target.marker.open(session, run, 'auto');
  } catch (error) {
    return { failure: failed('not_started', whyFailed(error, attempt, positionOf(run.step, 1, 1))), error };
  }
  const failure = await heedOnlyStop(attempt, (heeding) => runStatements(heeding, one));
  return failure ?? (await record(attempt, one));
}

async function runStatements(attempt: MysqlAttempt, { migration }: OneMigration): Promise<StepFailure | null> {
  const progress: Progress = { done: 0, begunAt: 0, committing: false, statements: migration.statements };
  try {
    for (const statement of migration.statements) {
      await runAndCommit(attempt, statement, progress);
      progress.done++;
    }
    return null;
  } catch (error) {
    return { failure: await failureOf(error, attempt, progress), error };
  }
}

interface Progress {
  done: number;
  begunAt: number;
  /** Whether a COMMIT was sent and not yet answered. */
  committing: boolean;
  statements: readonly MigrationStatement[];
}

/**
 * Changes rows in a transaction per statement, so that its ROLLBACK shows whether a failure left changes. A procedure that has succeeded may have
 * left a transaction open.
 */
async function runAndCommit(
  attempt: MysqlAttempt,
  { text, rowsOnly, mayCommit }: MigrationStatement,
  progress: Progress,
): Promise<void> {
  const { session, run } = attempt;
  progress.begunAt = performance.now();
  if (rowsOnly) await session.run('start transaction read write');
  await interruptible(attempt, () => runToEnd(session, text));
  if (/^set\b/i.test(text)) await session.keepReading();
  if (!rowsOnly && !mayCommit) return;
  // KILL ends GET_LOCK and SLEEP without an error.
  if (rowsOnly) checkFlag(run);
  progress.committing = true;
  await sendCommit(attempt);
  progress.committing = false;
}

async function failureOf(error: unknown, attempt: MysqlAttempt, progress: Progress) {
  const { session, run, target } = attempt;
  const { errors } = target.engine;
  const { done, begunAt, committing, statements } = progress;
  const subject = `version ${run.step}`;
  const rolledBack = await rollBack(session, target);
  if (rolledBack === null || committing) return failed('unknown', `${halfApplied(run.step)}: ${errors.reason(error)}`);
  const isEnded = run.control.requested && (error instanceof Interrupted || errors.isInterrupt(error));
  const ended = isEnded ? cancelFailure(run.control, 'rolled_back', subject) : null;
  const why = ended?.why ?? whyFailed(error, attempt, { subject, place: subject, begunAt });
  const text = statements[done]?.text ?? '';
  const stays = [
    ...(done > 0 ? [`statement ${done + 1} of ${statements.length} failed; the first ${done} are applied and stay`] : []),
    ...(rolledBack === 'kept' ? ['changes in tables without transactions stay'] : []),
    ...(errors.isInterrupt(error) && canOutliveInterrupt(text) ? ['the statement may have taken effect all the same'] : []),
    ...(canEndHalfDone(text) ? ['what the statement had done before that stays'] : []),
  ];
  if (stays.length > 0) return failed('partial', [why, ...stays].join('; '));
  if (run.marker) await target.marker.remove(session, run).catch(() => {});
  return ended ?? failed('rolled_back', why);
}

function record(attempt: MysqlAttempt, one: OneMigration): Promise<StepFailure | null> {
  return recordApplied(attempt, one, {
    async write() {
      await attempt.session.restoreSettings();
      await attempt.session.run('start transaction read write');
      await recordVersion(attempt, one, 'auto');
    },
    commit: (bounded) => commitMigration(bounded, one, positionOf(one.migration.version, 1, 1)),
  });
}
