import type { MigrationEngine } from '../../migrations/engine.js';
import type { PostgresWriteTarget } from './engine.js';
import { runMigrationOutside } from './migration-auto.js';
import { runMigrationInTransaction } from './migration-tx.js';
import { repairVersion } from './repair.js';
import { settingsStep } from './select.js';
import type { PostgresSession } from './session.js';
import { findTrackingTable, makeTrackingTable, readVersions } from './tracking-table.js';
import { expectLocks, locksOfMigration, MIGRATION_LOCK_KEY } from './write-transaction.js';

export function createPostgresMigrations(target: PostgresWriteTarget): MigrationEngine<PostgresSession> {
  return {
    async tryLock(session) {
      const rows = await session.query('select pg_catalog.pg_try_advisory_lock($1::bigint)', [String(MIGRATION_LOCK_KEY)]);
      return rows[0]?.[0] === 't';
    },
    beginRead: (session, timeoutSecs) =>
      session.exchange([
        { kind: 'run', text: 'begin transaction isolation level repeatable read read only' },
        settingsStep(timeoutSecs, true),
      ]),
    findTable: findTrackingTable,
    makeTable: (session, table) => session.exchange([makeTrackingTable(table)]),
    readVersions,
    async forget(session, run) {
      // Taking a lost lock back would not tell what another run has done meanwhile.
      await expectLocks(session, locksOfMigration(run));
      await session.checkSettings([...resets, ...session.backend.settings]);
    },
    runOne: (session, run, one) =>
      one.migration.transactional
        ? runMigrationInTransaction({ session, run, target }, one)
        : runMigrationOutside({ session, run, target }, one),
    repair: (session, run, table, repair) => repairVersion({ session, run, target }, table, repair),
  };
}

/** Everything that DISCARD ALL does except releasing the locks. */
const resets = [
  'close all',
  'set session authorization default',
  'reset all',
  'deallocate all',
  'unlisten *',
  'discard plans',
  'discard temp',
  'discard sequences',
];
