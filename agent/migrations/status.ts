import { compareVersions } from '../../domain/migration/version.js';
import type { Report } from '../drivers/engine.js';
import { interruptible } from '../drivers/guard.js';
import type { Session } from '../drivers/session.js';
import type { MigrationAttempt } from './engine.js';
import { undoMigration } from './failures.js';
import { nothingDone, statusOutcome } from './results.js';
import { readTable } from './run.js';

/** Lists the applied versions in a read-only transaction; takes no lock (MI-41). */
export async function runStatus<S extends Session>(attempt: MigrationAttempt<S>): Promise<Report> {
  const { session, run, target } = attempt;
  const at = { subject: 'status', place: 'status', begunAt: performance.now() };
  try {
    const found = await interruptible(attempt, async () => {
      await target.migrations.beginRead(session, run.timeoutSecs);
      return await readTable(attempt);
    });
    await target.engine.rollBack(session);
    if ('success' in found) return { outcome: found, error: null };
    return { outcome: statusOutcome(found.versions.sort(compareVersions), run.limits.maxResultBytes), error: null };
  } catch (error) {
    const { failure } = await undoMigration(error, attempt, at);
    return { outcome: nothingDone(failure), error };
  }
}
