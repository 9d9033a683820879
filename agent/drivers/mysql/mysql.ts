import type { AgentConfig, DriverConfig } from '../../config-values.js';
import { migrateInPool } from '../../migrations/migrate.js';
import { collectMysqlSnapshot } from '../../snapshot/mysql.js';
import type { Timings } from '../../timings.js';
import type { Driver } from '../driver.js';
import { explainInPool, runInPool, snapshotInPool } from '../pooled.js';
import { askAlone, connectDatabase, deleteOldMarkers } from '../upkeep.js';
import { runMysqlDml } from './dml.js';
import { mysqlEngine as engine } from './engine.js';
import { mysqlErrors as errors, mysqlConnectFailure } from './errors.js';
import { planMysqlStatement } from './explain.js';
import { readAccountProblem } from './grants.js';
import { createMysqlMarker } from './marker.js';
import { createMysqlMigrations } from './migrations.js';
import { createMysqlPool } from './pool.js';
import { runMysqlSelect } from './select.js';

/** A MySQL or MariaDB target with one pool for reads and one for writes. */
export function createMysqlDriver(database: DriverConfig, config: AgentConfig, timings: Timings): Driver {
  const options = { max: database.poolMax, maxRowBytes: config.limits.maxRowBytes, connectTimeoutMs: timings.httpConnectMs };
  const reads = createMysqlPool({ ...options, url: database.readUrl, readOnly: true });
  const writes = createMysqlPool({ ...options, url: database.url, readOnly: false });
  const marker = createMysqlMarker(config.marker);
  const toRead = { pool: reads, timings, engine, graceMs: timings.mysqlReadGraceMs };
  const toWrite = { pool: writes, timings, engine, graceMs: 0, marker };
  const toMigrate = { ...toWrite, migrations: createMysqlMigrations(toWrite), lockWaitMs: config.migrationLockWaitMs };
  const kept = { reads, writes, marker, config: config.marker, silentMs: timings.silentMs };

  return {
    dialect: 'mysql',
    connect: ({ onlyLook }) =>
      connectDatabase(kept, onlyLook, mysqlConnectFailure, async (_, reader) => ({
        readProblem: await readAccountProblem(reader),
        nameProblem: null,
      })),
    readRoleRights: () => askAlone(reads, timings.silentMs, readAccountProblem),
    select: (run) => runInPool(toRead, run, runMysqlSelect),
    dml: (run) => runInPool(toWrite, run, runMysqlDml),
    migrate: (run, task) => migrateInPool(run, task, toMigrate),
    explain: (run) =>
      explainInPool(reads, run, errors, {
        graceMs: timings.deadlineGraceMs,
        plan: (session) => planMysqlStatement(session, run, database.explainFunctions),
      }),
    errorText: errors.errorText,
    // Not with the read account: MariaDB hides constraints from accounts that can only SELECT.
    snapshot: (timeoutMs, signal) =>
      snapshotInPool(writes, signal, (session) => collectMysqlSnapshot(session, timeoutMs, signal)),
    deleteOldMarkers: () => deleteOldMarkers(kept),
    async close() {
      await Promise.all([reads.close(), writes.close()]);
    },
  };
}
