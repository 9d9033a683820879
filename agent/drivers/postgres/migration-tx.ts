import type { OneMigration, StepFailure, TrackingTable } from '../../migrations/engine.js';
import { type Position, positionOf, undoMigration, whyFailed } from '../../migrations/failures.js';
import { failed } from '../../migrations/results.js';
import type { Run } from '../driver.js';
import { checkFlag, interruptible } from '../guard.js';
import { askTransactionId, ROLLED_BACK, settleCommit, type TransactionId, transactionIdOf, transactionStatus } from './commit.js';
import type { PostgresAttempt } from './engine.js';
import { asServerError } from './errors.js';
import type { Step } from './exchange.js';
import { expectMarked } from './marker.js';
import type { PostgresSession } from './session.js';
import { changeVersion, expectChanged, lookForVersion, makeTrackingTable } from './tracking-table.js';
import { beginWrite, locksOfMigration } from './write-transaction.js';

/** Runs a migration, its version row and its marker row in one transaction: all or nothing (MI-37). */
export async function runMigrationInTransaction(attempt: PostgresAttempt, one: OneMigration): Promise<StepFailure | null> {
  const { session, run } = attempt;
  const { version, statements } = one.migration;
  let at = positionOf(version, 1, statements.length);
  // The steps that begin the transaction travel with the first statement.
  let ahead = beginSteps(run, one.table);
  let transaction: TransactionId;
  try {
    for (const [index, { text }] of statements.entries()) {
      at = positionOf(version, index + 1, statements.length);
      const steps: Step[] = [...(index > 0 ? [session.keepReading] : ahead), { kind: 'run', text, onRow: () => {} }];
      ahead = [];
      await interruptible(attempt, () => session.exchange(steps));
    }
    at = positionOf(version, 1, 1);
    // A text may contain only comments.
    if (ahead.length > 0) await session.exchange(ahead);
    transaction = await interruptible(attempt, () => recordVersion(attempt, one, 'tx'));
    checkFlag(run);
  } catch (error) {
    const note = asServerError(error)?.code === ACTIVE_TRANSACTION ? NEEDS_NO_TRANSACTION : '';
    return await undoMigration(error, attempt, at, note);
  }
  return await commitMigration(attempt, one, at, transaction);
}

const ACTIVE_TRANSACTION = '25001';
const NEEDS_NO_TRANSACTION = '; it has to be the one statement of a migration with transaction:false';

/** Begins a transaction, and creates the tracking table in it where missing. */
export function beginSteps(run: Run, table: TrackingTable): Step[] {
  const begin = beginWrite(run, locksOfMigration(run));
  return table.there ? begin : [...begin, makeTrackingTable(table)];
}

/** Writes version row and marker row in the open transaction, and returns its id. */
export async function recordVersion(
  { session, run, target: { marker } }: PostgresAttempt,
  { direction, migration, table }: OneMigration,
  mode: 'tx' | 'auto',
): Promise<TransactionId> {
  const results = await session.exchange([
    ...changeVersion(table, migration.version, direction),
    ...(run.marker ? [marker.openStep(run, mode), marker.done(run, null)] : []),
    askTransactionId,
  ]);
  if (run.marker) expectMarked(results.at(-2));
  expectChanged(results, direction);
  return transactionIdOf(session, results.at(-1));
}

/** Commits the open transaction; an existing version row also proves the commit (MI-37). */
export async function commitMigration(
  attempt: PostgresAttempt,
  one: OneMigration,
  at: Position,
  transaction: TransactionId,
): Promise<StepFailure | null> {
  const end = await settleCommit(attempt, async (other) => {
    const known = await transactionStatus(other, transaction);
    return known ?? ((await versionShows(other, one)) ? 'committed' : null);
  });
  if (end.found === 'committed') return null;
  const why = end.error === null ? `${at.place}: ${ROLLED_BACK}` : whyFailed(end.error, attempt, at);
  const failure = end.found === 'unknown' ? failed('unknown', `commit outcome unknown: ${why}`) : failed('rolled_back', why);
  return { failure, error: end.error };
}

async function versionShows(session: PostgresSession, { direction, migration, table }: OneMigration): Promise<boolean> {
  const [found] = await session.exchange([lookForVersion(table, migration.version)]).catch(() => []);
  return found !== undefined && found.rows.length > 0 === (direction === 'up');
}
