import type { OneMigration, StepFailure } from '../../migrations/dialect.js';
import { type Position, positionOf, undoMigration, whyFailed } from '../../migrations/failures.js';
import { failed } from '../../migrations/results.js';
import type { Run } from '../driver.js';
import { checkFlag, interruptible } from '../guard.js';
import { settleCommit } from './commit.js';
import type { MysqlWriteTarget } from './engine.js';
import type { MysqlSession } from './session.js';
import { changeVersion, hasVersion } from './tracking-table.js';

/**
 * Runs a migration that only changes rows, with its version row and its marker row, in one transaction: all or nothing (MI-39).
 */
export async function runMigrationInTransaction(
  session: MysqlSession,
  run: Run,
  one: OneMigration,
  target: MysqlWriteTarget,
): Promise<StepFailure | null> {
  const { version, statements } = one.migration;
  let at = positionOf(version, 1, statements.length);
  try {
    await session.run('start transaction read write');
    for (const [index, { text }] of statements.entries()) {
      at = positionOf(version, index + 1, statements.length);
      await interruptible(session, run, target, () => session.run(text));
    }
    at = positionOf(version, 1, 1);
    await interruptible(session, run, target, () => recordVersion(session, run, one, target, 'tx'));
    checkFlag(run);
  } catch (error) {
    return await undoMigration(error, session, run, target, at);
  }
  return await commitMigration(session, run, target, { at, one });
}

/** Writes version row and marker row in the open transaction. */
export async function recordVersion(
  session: MysqlSession,
  run: Run,
  one: OneMigration,
  { marker }: MysqlWriteTarget,
  mode: 'tx' | 'auto',
): Promise<void> {
  await changeVersion(session, one);
  if (!run.marker) return;
  await marker.open(session, run, mode);
  await marker.done(session, run, null);
}

/** Commits the open transaction; an existing version row also proves the commit (MI-37). */
export async function commitMigration(
  session: MysqlSession,
  run: Run,
  target: MysqlWriteTarget,
  { at, one }: { at: Position; one: OneMigration },
): Promise<StepFailure | null> {
  const { direction, migration, table } = one;
  const shows = async (other: MysqlSession) => {
    const found = await hasVersion(other, table, migration.version);
    return found === (direction === 'up') ? ('committed' as const) : null;
  };
  const end = await settleCommit(session, run, target, shows);
  if (end.found === 'committed') return null;
  const why = whyFailed(end.error, run, target, at);
  const failure = end.found === 'unknown' ? failed('unknown', `commit outcome unknown: ${why}`) : failed('rolled_back', why);
  return { failure, error: end.error };
}
