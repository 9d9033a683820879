import type { OneMigration, StepFailure } from '../../migrations/engine.js';
import { type Position, positionOf, undoMigration, whyFailed } from '../../migrations/failures.js';
import { failed } from '../../migrations/results.js';
import { checkFlag, interruptible } from '../guard.js';
import { settleCommit } from './commit.js';
import type { MysqlAttempt } from './engine.js';
import { expectLocks } from './locks.js';
import type { MysqlSession } from './session.js';
import { changeVersion, hasVersion } from './tracking-table.js';

/**
 * Runs a migration that only changes rows, with its version row and its marker row, in one transaction: all or nothing (MI-39).
 * Commits only while the session has the locks.
 */
export async function runMigrationInTransaction(
  attempt: MysqlAttempt,
  one: OneMigration,
  locks: readonly string[],
): Promise<StepFailure | null> {
  const { session, run } = attempt;
  const { version, statements } = one.migration;
  let at = positionOf(version, 1, statements.length);
  try {
    await session.run('start transaction read write');
    for (const [index, { text }] of statements.entries()) {
      at = positionOf(version, index + 1, statements.length);
      await interruptible(attempt, () => session.run(text));
    }
    at = positionOf(version, 1, 1);
    await interruptible(attempt, async () => {
      await recordVersion(attempt, one, 'tx');
      await expectLocks(session, locks);
    });
    checkFlag(run);
  } catch (error) {
    return await undoMigration(error, attempt, at);
  }
  return await commitMigration(attempt, one, at);
}

/** Writes version row and marker row in the open transaction. */
export async function recordVersion(
  { session, run, target: { marker } }: MysqlAttempt,
  one: OneMigration,
  mode: 'tx' | 'auto',
): Promise<void> {
  await changeVersion(session, one);
  if (!run.marker) return;
  await marker.open(session, run, mode);
  await marker.done(session, run, null);
}

/** Commits the open transaction; an existing version row also proves the commit (MI-37). */
export async function commitMigration(attempt: MysqlAttempt, one: OneMigration, at: Position): Promise<StepFailure | null> {
  const { direction, migration, table } = one;
  const shows = async (other: MysqlSession) => {
    const found = await hasVersion(other, table, migration.version);
    return found === (direction === 'up') ? ('committed' as const) : null;
  };
  const end = await settleCommit(attempt, shows);
  if (end.found === 'committed') return null;
  const why = whyFailed(end.error, attempt, at);
  const failure = end.found === 'unknown' ? failed('unknown', `commit outcome unknown: ${why}`) : failed('rolled_back', why);
  return { failure, error: end.error };
}
