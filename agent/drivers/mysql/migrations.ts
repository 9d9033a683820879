import { createHash } from 'node:crypto';
import type { MigrationStatement } from '../../../sql/migration-text.js';
import type { MigrationEngine, OneMigration, StepFailure } from '../../migrations/engine.js';
import { positionOf, whyFailed } from '../../migrations/failures.js';
import { failed } from '../../migrations/results.js';
import type { MysqlAttempt, MysqlWriteTarget } from './engine.js';
import { isInnodbOnly } from './innodb.js';
import { type Before, takeBack, variablesOf } from './leftovers.js';
import { limitMigrationTime, limitTime } from './limits.js';
import { expectLocks, requestLockName, tryLock } from './locks.js';
import { runMigrationOneByOne } from './migration-auto.js';
import { runMigrationInTransaction } from './migration-tx.js';
import { repairVersion } from './repair.js';
import type { MysqlSession } from './session.js';
import { findTrackingTable, makeTrackingTable, readVersions } from './tracking-table.js';

/** The name of the lock that excludes all other migrations of a database (MI-31). */
export function migrationLockName(database: string): string {
  return `svc-migr:${createHash('sha256').update(`svc-migrations:${database}`).digest('hex').slice(0, 32)}`;
}

export function createMysqlMigrations(target: MysqlWriteTarget): MigrationEngine<MysqlSession> {
  const migrating = new WeakMap<MysqlSession, Migrating>();
  return {
    async tryLock(session) {
      const database = await takeLock(session);
      if (database === null) return false;
      const before = { database, variables: await variablesOf(session) };
      migrating.set(session, { before, ran: [], locks: [migrationLockName(database)] });
      return true;
    },
    async beginRead(session, timeoutSecs) {
      await limitTime(session, timeoutSecs);
      await session.run('start transaction with consistent snapshot, read only');
    },
    findTable: findTrackingTable,
    makeTable: makeTrackingTable,
    readVersions,
    async forget(session) {
      const state = migrating.get(session);
      if (!state) return;
      // Taking a lost lock back would not tell what another run has done meanwhile.
      await expectLocks(session, state.locks);
      await takeBack(session, state.before, state.ran);
    },
    runOne(session, run, one) {
      const state = migrating.get(session);
      const locks = [requestLockName(run.requestId), ...(state?.locks ?? [])];
      if (state) migrating.set(session, { ...state, ran: one.migration.statements, locks });
      return runMigration({ session, run, target }, one, locks);
    },
    repair: (session, run, table, repair) => repairVersion({ session, run, target }, table, repair),
  };
}

/** What a session was before its migration, the statements that changed it since, and the locks that it must keep. */
interface Migrating {
  before: Before;
  ran: readonly MigrationStatement[];
  locks: readonly string[];
}

/** Takes the lock of the session's database and returns that database; null when another session has the lock. */
async function takeLock(session: MysqlSession): Promise<string | null> {
  const [[database] = []] = await session.query('select database()');
  return (await tryLock(session, migrationLockName(database ?? ''))) ? (database ?? '') : null;
}

async function runMigration(attempt: MysqlAttempt, one: OneMigration, locks: readonly string[]): Promise<StepFailure | null> {
  const { session, run } = attempt;
  const { version, statements } = one.migration;
  // Resetting a connection does not change its current database.
  if (statements.some(({ text }) => /^use\b/i.test(text))) session.distrust();
  let inTransaction: boolean;
  try {
    await limitMigrationTime(session, run.timeoutSecs);
    if (!one.table.there) await makeTrackingTable(session, one.table);
    const texts = statements.map(({ text }) => text);
    inTransaction = statements.every(({ rowsOnly }) => rowsOnly) && (await isInnodbOnly(session, texts));
  } catch (error) {
    return { failure: failed('not_started', whyFailed(error, attempt, positionOf(version, 1, 1))), error };
  }
  return inTransaction ? await runMigrationInTransaction(attempt, one, locks) : await runMigrationOneByOne(attempt, one);
}
