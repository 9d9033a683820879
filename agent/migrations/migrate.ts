import type { Run, RunReport } from '../drivers/driver.js';
import { runInPool } from '../drivers/pooled.js';
import type { Session } from '../drivers/session.js';
import type { MigrationTarget } from './engine.js';
import { runRepair } from './repair.js';
import { runMigrations } from './run.js';
import { runStatus } from './status.js';
import type { MigrationTask } from './task.js';

/** Runs a migrate operation on a pooled session; never throws. */
export function migrateInPool<S extends Session>(run: Run, task: MigrationTask, target: MigrationTarget<S>): Promise<RunReport> {
  return runInPool(target, run, (attempt, onProven) => {
    if (task.kind === 'status') return runStatus(attempt);
    if (task.kind === 'repair') return runRepair(attempt, task.repair, onProven);
    return runMigrations(attempt, task.bundle, onProven);
  });
}
