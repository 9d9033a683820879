import type { Run, RunReport } from '../drivers/driver.js';
import { runInPool } from '../drivers/pooled.js';
import type { Session } from '../drivers/session.js';
import { failure } from '../outcome.js';
import type { MigrationTarget } from './dialect.js';
import { runRepair } from './repair.js';
import { runMigrations } from './run.js';
import { runStatus } from './status.js';
import type { MigrationTask } from './task.js';

/** Carries out a migrate operation on a session of the pool; never throws. */
export async function migrateInPool<S extends Session>(
  run: Run,
  task: MigrationTask,
  target: MigrationTarget<S>,
): Promise<RunReport> {
  // Whoever cancels is told that nothing was changed; with a lost attempt that takes proof (MI-I9).
  let proven = run.unresolvedFences.length === 0;
  const onProven = () => {
    proven = true;
  };
  const report = await runInPool(target.pool, run, target.engine.errors, (session) => {
    if (task.kind === 'status') return runStatus(session, run, target);
    if (task.kind === 'repair') return runRepair(session, run, task.repair, target, onProven);
    return runMigrations(session, run, task.bundle, target, onProven);
  });
  if (proven || report.outcome.success || !report.outcome.cancelled) return report;
  const lost = run.unresolvedFences.at(-1);
  return { ...report, outcome: failure('unknown', `migration cancelled before it was known what attempt ${lost} did`) };
}
