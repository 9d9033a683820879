import type { StepFailure, TrackingTable } from '../../migrations/engine.js';
import { positionOf, undoMigration } from '../../migrations/failures.js';
import type { MigrationRepair } from '../../migrations/task.js';
import { checkFlag, interruptible } from '../guard.js';
import { askTransactionId, type TransactionId, transactionIdOf } from './commit.js';
import type { PostgresAttempt } from './engine.js';
import { beginSteps, commitMigration } from './migration-tx.js';
import { changeVersion, expectChanged, lookForVersion } from './tracking-table.js';

/** Adds or removes a version row, with the marker row, in one transaction (MI-42). */
export async function repairVersion(
  attempt: PostgresAttempt,
  table: TrackingTable,
  repair: MigrationRepair,
): Promise<{ changed: boolean } | StepFailure> {
  const { session, run, target } = attempt;
  const { version } = repair;
  const direction = repair.action === 'mark_applied' ? 'up' : 'down';
  const at = positionOf(version, 1, 1);
  let work: { changed: boolean; transaction: TransactionId };
  try {
    work = await interruptible(attempt, async () => {
      const found = await session.exchange([...beginSteps(run, table), lookForVersion(table, version)]);
      const changed = (found.at(-1)?.rows.length === 0) === (direction === 'up');
      const results = await session.exchange([
        ...(changed ? changeVersion(table, version, direction) : []),
        ...(run.marker ? [target.marker.openStep(run, 'tx'), target.marker.done(run, changed ? 1 : 0)] : []),
        askTransactionId,
      ]);
      if (changed) expectChanged(results, direction);
      return { changed, transaction: transactionIdOf(session, results.at(-1)) };
    });
    checkFlag(run);
  } catch (error) {
    return await undoMigration(error, attempt, at);
  }
  const one = { direction, migration: { version, transactional: true, statements: [] }, table } as const;
  const { transaction, changed } = work;
  return (await commitMigration(attempt, one, at, transaction)) ?? { changed };
}
