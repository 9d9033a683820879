import type { OneMigration, StepFailure, TrackingTable } from '../../migrations/engine.js';
import { positionOf, undoMigration } from '../../migrations/failures.js';
import type { MigrationRepair } from '../../migrations/task.js';
import { checkFlag, interruptible } from '../guard.js';
import type { MysqlAttempt } from './engine.js';
import { limitMigrationTime } from './limits.js';
import { commitMigration } from './migration-tx.js';
import { changeVersion, hasVersion, makeTrackingTable } from './tracking-table.js';

/** Adds or removes a version row, with the marker row, in one transaction (MI-42). */
export async function repairVersion(
  attempt: MysqlAttempt,
  table: TrackingTable,
  repair: MigrationRepair,
): Promise<{ changed: boolean } | StepFailure> {
  const { session, run, target } = attempt;
  const { version } = repair;
  const direction = repair.action === 'mark_applied' ? 'up' : 'down';
  const one: OneMigration = { direction, migration: { version, transactional: true, statements: [] }, table };
  const at = positionOf(version, 1, 1);
  let changed: boolean;
  try {
    changed = await interruptible(attempt, async () => {
      await limitMigrationTime(session, run.timeoutSecs);
      if (!table.there) await makeTrackingTable(session, table);
      await session.run('start transaction read write');
      const needed = (await hasVersion(session, table, version)) !== (direction === 'up');
      if (needed) await changeVersion(session, one);
      if (run.marker) {
        await target.marker.open(session, run, 'tx');
        await target.marker.done(session, run, needed ? 1 : 0);
      }
      return needed;
    });
    checkFlag(run);
  } catch (error) {
    return await undoMigration(error, attempt, at);
  }
  return (await commitMigration(attempt, one, at)) ?? { changed };
}
