import { consultMarkers, takeRequestLock } from '../drivers/attempt.js';
import type { Report } from '../drivers/engine.js';
import { checkFlag, notStarted, preparing } from '../drivers/guard.js';
import type { Session } from '../drivers/session.js';
import { failure, type Outcome, STARTS_TOO_LATE } from '../outcome.js';
import type { MigrationAttempt } from './engine.js';
import { nothingDone, repairOutcome } from './results.js';
import { readTable, takeMigrationLock } from './run.js';
import type { MigrationRepair } from './task.js';

/** Repairs a version row under both locks, whatever the schema holds (MI-42). */
export async function runRepair<S extends Session>(
  attempt: MigrationAttempt<S>,
  repair: MigrationRepair,
  onProven: () => void,
): Promise<Report> {
  const { session, run, target } = attempt;
  const { action, version } = repair;
  const marked = (fence: number, rowsAffected: number | null): Outcome =>
    repairOutcome(action, version, rowsAffected === 1, fence);
  try {
    const settled =
      (await takeRequestLock(attempt)) ??
      (await takeMigrationLock(attempt)) ??
      (await consultMarkers(attempt, 'tx', onProven, ({ fence, rowsAffected }) => marked(fence, rowsAffected)));
    if (settled) return { outcome: settled, error: null };
    checkFlag(run);
    if (!run.mayStart()) return { outcome: failure('not_started', STARTS_TOO_LATE), error: null };
    const found = await preparing(attempt, () => readTable(attempt));
    if ('success' in found) return { outcome: found, error: null };
    const ended = await target.migrations.repair(session, run, found.table, repair);
    if ('changed' in ended) return { outcome: repairOutcome(action, version, ended.changed, null), error: null };
    const { outcome, why } = ended.failure;
    return { outcome: outcome === 'unknown' ? failure(outcome, why) : nothingDone(ended.failure), error: ended.error };
  } catch (error) {
    return { outcome: notStarted(error, run, target.engine.errors), error };
  }
}
