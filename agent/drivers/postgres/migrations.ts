import type { MigrationEngine } from '../../migrations/engine.js';
import type { PostgresWriteTarget } from './engine.js';
import type { Step } from './exchange.js';
import { runMigrationOutside } from './migration-auto.js';
import { runMigrationInTransaction } from './migration-tx.js';
import { repairVersion } from './repair.js';
import { settingsStep } from './select.js';
import type { PostgresSession } from './session.js';
import { findTrackingTable, makeTrackingTable, readVersions } from './tracking-table.js';
import { MIGRATION_LOCK_KEY } from './write-transaction.js';

export function createPostgresMigrations(target: PostgresWriteTarget): MigrationEngine<PostgresSession> {
  return {
    async tryLock(session) {
      const rows = await session.query('select pg_catalog.pg_try_advisory_lock($1::bigint)', [String(MIGRATION_LOCK_KEY)]);
      return rows[0]?.[0] === 't';
    },
    beginRead: (session, timeoutSecs) =>
      session.exchange([step('begin transaction isolation level repeatable read read only'), settingsStep(timeoutSecs, true)]),
    findTable: findTrackingTable,
    makeTable: (session, table) => session.exchange([makeTrackingTable(table)]),
    readVersions,
    forget: (session) => session.exchange(forgetSteps),
    runOne: (session, run, one) =>
      one.migration.transactional
        ? runMigrationInTransaction({ session, run, target }, one)
        : runMigrationOutside({ session, run, target }, one),
    repair: (session, run, table, repair) => repairVersion({ session, run, target }, table, repair),
  };
}

function step(text: string): Step {
  return { kind: 'run', text };
}

/** Everything that DISCARD ALL does except releasing the locks. */
const forgetSteps = [
  'close all',
  'set session authorization default',
  'reset all',
  'deallocate all',
  'unlisten *',
  'discard plans',
  'discard temp',
  'discard sequences',
].map(step);
