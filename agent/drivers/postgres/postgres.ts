import type { AgentConfig, DriverConfig } from '../../config-values.js';
import { migrateInPool } from '../../migrations/migrate.js';
import { collectPostgresSnapshot } from '../../snapshot/postgres.js';
import type { Timings } from '../../timings.js';
import type { Driver } from '../driver.js';
import { explainInPool, runInPool, snapshotInPool } from '../pooled.js';
import { askAlone, connectDatabase, deleteOldMarkers } from '../upkeep.js';
import { runDml } from './dml.js';
import { postgresEngine as engine } from './engine.js';
import { connectFailure, postgresErrors as errors } from './errors.js';
import { planStatement } from './explain.js';
import { createPostgresMarker } from './marker.js';
import { createPostgresMigrations } from './migrations.js';
import { createPostgresPool } from './pool.js';
import { refusePooler } from './pooler.js';
import { writableByRole } from './read-role.js';
import { askSearchPath, ownPathProblem } from './search-path.js';
import { runSelect } from './select.js';
import { DEFAULT_SEARCH_PATH } from './settings.js';

/** A PostgreSQL target with one pool for reads and one for writes. */
export function createPostgresDriver(database: DriverConfig, config: AgentConfig, timings: Timings): Driver {
  const { reads, writes } = createPools(database, config, timings);
  const marker = createPostgresMarker(config.marker);
  const toRead = { pool: reads, timings, engine, graceMs: timings.deadlineGraceMs };
  const toWrite = { ...toRead, pool: writes, marker };
  const toMigrate = { ...toWrite, migrations: createPostgresMigrations(toWrite), lockWaitMs: config.migrationLockWaitMs };
  const kept = { reads, writes, marker, config: config.marker, silentMs: timings.silentMs };

  return {
    dialect: 'postgresql',
    connect: ({ onlyLook }) =>
      connectDatabase(kept, onlyLook, connectFailure, async (writer, _, another) => {
        await refusePooler(writer, await another());
        return { readProblem: null, nameProblem: database.searchPath === null ? await ownPathProblem(writer) : null };
      }),
    readRoleRights: () => askAlone(reads, timings.silentMs, writableByRole),
    select: (run) => runInPool(toRead, run, runSelect),
    dml: (run) => runInPool(toWrite, run, runDml),
    migrate: (run, task) => migrateInPool(run, task, toMigrate),
    async snapshot(timeoutMs, signal) {
      const limits = { timeoutMs, signal };
      // The configured path is one, but what `$user` means and which schemas are usable depends on the role.
      const writePath = database.readUrl === database.url ? null : await askSearchPath(writes, limits);
      return snapshotInPool(reads, signal, (session) => collectPostgresSnapshot(session, writePath, limits));
    },
    explain: (run) =>
      explainInPool(reads, run, errors, {
        graceMs: timings.deadlineGraceMs,
        plan: (session) => planStatement(session, run, database.explainFunctions),
      }),
    errorText: errors.errorText,
    deleteOldMarkers: () => deleteOldMarkers(kept),
    async close() {
      await Promise.all([reads.close(), writes.close()]);
    },
  };
}

function createPools(database: DriverConfig, config: AgentConfig, timings: Timings) {
  const searchPath = database.searchPath ?? DEFAULT_SEARCH_PATH;
  const { maxRowBytes } = config.limits;
  const options = { max: database.poolMax, maxRowBytes, connectTimeoutMs: timings.httpConnectMs, searchPath };
  return {
    reads: createPostgresPool({ ...options, url: database.readUrl, readOnly: true }),
    writes: createPostgresPool({ ...options, url: database.url, readOnly: false }),
  };
}
