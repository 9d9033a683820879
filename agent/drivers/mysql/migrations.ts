import { createHash } from 'node:crypto';
import type { MigrationStatement } from '../../../sql/migration-text.js';
import type { MigrationDialect, StepFailure } from '../../migrations/dialect.js';
import { positionOf, whyFailed } from '../../migrations/failures.js';
import { failed } from '../../migrations/results.js';
import type { MysqlWriteTarget } from './engine.js';
import { isInnodbOnly } from './innodb.js';
import { type Before, takeBack, variablesOf } from './leftovers.js';
import { limitMigrationTime, limitTime } from './limits.js';
import { runMigrationOneByOne } from './migration-auto.js';
import { runMigrationInTransaction } from './migration-tx.js';
import { repairVersion } from './repair.js';
import type { MysqlSession } from './session.js';
import { findTrackingTable, makeTrackingTable, readVersions } from './tracking-table.js';

/** The name of the lock that excludes all other migrations of a database (MI-31). */
export function migrationLockName(database: string): string {
  return `svc-migr:${createHash('sha256').update(`svc-migrations:${database}`).digest('hex').slice(0, 32)}`;
}

export function createMysqlMigrations(target: MysqlWriteTarget): MigrationDialect<MysqlSession> {
  const before = new WeakMap<MysqlSession, Before>();
  const ran = new WeakMap<MysqlSession, readonly MigrationStatement[]>();
  return {
    async tryLock(session) {
      const [[database] = []] = await session.query('select database()');
      const [[taken] = []] = await session.query('select get_lock(?, 0)', [migrationLockName(database ?? '')]);
      if (taken !== '1') return false;
      before.set(session, { database: database ?? '', variables: await variablesOf(session) });
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
      const state = before.get(session);
      if (state) await takeBack(session, state, ran.get(session) ?? []);
    },
    async runOne(session, run, one) {
      const { version, statements } = one.migration;
      ran.set(session, statements);
      // Resetting a connection does not change its current database.
      if (statements.some(({ text }) => /^use\b/i.test(text))) session.distrust();
      let inTransaction: boolean;
      try {
        await limitMigrationTime(session, run.timeoutSecs);
        if (!one.table.there) await makeTrackingTable(session, one.table);
        const texts = statements.map(({ text }) => text);
        inTransaction = statements.every(({ rowsOnly }) => rowsOnly) && (await isInnodbOnly(session, texts));
      } catch (error) {
        return notBegun(error, whyFailed(error, run, target, positionOf(version, 1, 1)));
      }
      return inTransaction
        ? await runMigrationInTransaction(session, run, one, target)
        : await runMigrationOneByOne(session, run, one, target);
    },
    repair: (session, run, table, repair) => repairVersion(session, run, { table, repair }, target),
  };
}

const notBegun = (error: unknown, why: string): StepFailure => ({ failure: failed('not_started', why), error });
