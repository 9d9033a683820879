import type { StepFailure, TrackingTable } from '../../migrations/dialect.js';
import { positionOf, undoMigration } from '../../migrations/failures.js';
import type { MigrationRepair } from '../../migrations/task.js';
import type { Run } from '../driver.js';
import { checkFlag, interruptible } from '../guard.js';
import type { PostgresWriteTarget } from './engine.js';
import { beginSteps, commitMigration, TRANSACTION_ID } from './migration-tx.js';
import type { PostgresSession } from './session.js';
import { changeVersion, lookForVersion } from './tracking-table.js';

interface Repairing {
  table: TrackingTable;
  repair: MigrationRepair;
}

/** Makes a version row be there or not, with the marker row, in one transaction (MI-42). */
export async function repairVersion(
  session: PostgresSession,
  run: Run,
  { table, repair }: Repairing,
  target: PostgresWriteTarget,
): Promise<{ changed: boolean } | StepFailure> {
  const { version } = repair;
  const direction = repair.action === 'mark_applied' ? 'up' : 'down';
  const at = positionOf(version, 1, 1);
  let work: { changed: boolean; transactionId: string | null };
  try {
    work = await interruptible(session, run, target, async () => {
      const found = await session.exchange([...beginSteps(run, table), lookForVersion(table, version)]);
      const changed = (found.at(-1)?.rows.length === 0) === (direction === 'up');
      const results = await session.exchange([
        ...(changed ? [changeVersion(table, version, direction)] : []),
        ...(run.marker ? [target.marker.openStep(run, 'tx'), target.marker.done(run, changed ? 1 : 0)] : []),
        TRANSACTION_ID,
      ]);
      return { changed, transactionId: results.at(-1)?.rows[0]?.[0] ?? null };
    });
    checkFlag(run);
  } catch (error) {
    return await undoMigration(error, session, run, target, at);
  }
  const one = { direction, migration: { version, transactional: true, statements: [] }, table } as const;
  const { transactionId, changed } = work;
  return (await commitMigration(session, run, target, { transactionId, at, one })) ?? { changed };
}
