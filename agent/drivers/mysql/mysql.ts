import type { AgentConfig, DatabaseConfig } from '../../config.js';
import { migrateInPool } from '../../migrations/migrate.js';
import { collectMysqlSchema } from '../../schema/mysql.js';
import type { Timings } from '../../timings.js';
import type { Connected, Driver, ExplainRun } from '../driver.js';
import { explainInPool, runInPool, snapshotInPool } from '../pooled.js';
import { runMysqlDml } from './dml.js';
import { mysqlEngine as engine } from './engine.js';
import { mysqlErrors as errors, mysqlConnectFailure } from './errors.js';
import { readAccountProblem } from './grants.js';
import { limitTime } from './limits.js';
import { createMysqlMarker } from './marker.js';
import { createMysqlMigrations } from './migrations.js';
import { explainMysql } from './plan.js';
import { createMysqlPool } from './pool.js';
import { runMysqlSelect } from './select.js';
import type { MysqlSession } from './session.js';
import { readMysqlUrl } from './url.js';

/** A MySQL or MariaDB target with a pool for reads and one for writes. */
export function createMysqlDriver(database: DatabaseConfig, config: AgentConfig, timings: Timings): Driver {
  const options = { max: database.poolMax, maxRowBytes: config.limits.maxRowBytes, connectTimeoutMs: timings.httpConnectMs };
  const reads = createMysqlPool({ ...options, url: database.readUrl, readOnly: true });
  const writes = createMysqlPool({ ...options, url: database.url, readOnly: false });
  const address = readMysqlUrl(database.url);
  const schema = config.marker.schema ?? (typeof address === 'string' ? null : address.database);
  const marker = createMysqlMarker({ schema, table: config.marker.table });
  const toRead = { pool: reads, timings, engine, graceMs: timings.mysqlReadGraceMs };
  const toWrite = { pool: writes, timings, engine, graceMs: 0, marker };
  const toMigrate = { ...toWrite, migrations: createMysqlMigrations(toWrite), lockWaitMs: config.migrationLockWaitMs };

  return {
    dialect: 'mysql',
    async connect({ onlyLook }): Promise<Connected> {
      // Looked at outside the pools, so that a reconnect never waits for running jobs.
      const opened = await Promise.allSettled([writes.open(), reads.open()]);
      const sessions = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      try {
        for (const one of opened) if (one.status === 'rejected') throw one.reason;
        const [writer, reader] = sessions as [MysqlSession, MysqlSession];
        const readProblem = await readAccountProblem(reader);
        const isOff = config.marker.mode === 'off';
        const markerProblem = isOff ? null : await marker.prepare(writer, onlyLook);
        return { markerReady: !isOff && markerProblem === null, markerProblem, readProblem };
      } catch (error) {
        throw mysqlConnectFailure(error);
      } finally {
        await Promise.all(sessions.map((session) => session.release()));
      }
    },
    select: (run) => runInPool(reads, run, errors, (session) => runMysqlSelect(session, run, toRead)),
    dml: (run) => runInPool(writes, run, errors, (session, onProven) => runMysqlDml(session, run, toWrite, onProven)),
    migrate: (run, task) => migrateInPool(run, task, toMigrate),
    explain: (run) =>
      explainInPool(run.read ? reads : writes, run, errors, {
        graceMs: timings.deadlineGraceMs,
        plan: (session) => explainAndRollBack(session, run),
      }),
    errorText: errors.errorText,
    // Not with the account of reads: MariaDB hides constraints from one that can only SELECT.
    snapshot: (timeoutMs, signal) => snapshotInPool(writes, signal, (session) => collectMysqlSchema(session, timeoutMs, signal)),
    async deleteOldMarkers() {
      const session = await writes.open();
      try {
        return await marker.deleteOld(session, config.marker.retentionDays);
      } finally {
        await session.release();
      }
    },
    async close() {
      await Promise.all([reads.close(), writes.close()]);
    },
  };
}

/** MariaDB does not plan a write in a read-only transaction; planned without ANALYZE it does not run, and the reset rolls back (AP-60). */
async function explainAndRollBack(session: MysqlSession, run: ExplainRun): Promise<string> {
  await session.run(`start transaction read ${run.read ? 'only' : 'write'}`);
  await limitTime(session, run.timeoutMs / 1000);
  return (await explainMysql(session, run.sql)).replace(/\n\s*/g, '');
}
