import type { AgentConfig, DatabaseConfig } from '../../config.js';
import { migrateInPool } from '../../migrations/migrate.js';
import { collectPostgresSchema } from '../../schema/postgres.js';
import type { Timings } from '../../timings.js';
import type { Connected, Driver } from '../driver.js';
import { explainInPool, runInPool, snapshotInPool } from '../pooled.js';
import { runDml } from './dml.js';
import { postgresEngine as engine } from './engine.js';
import { connectFailure, postgresErrors as errors } from './errors.js';
import { explainText } from './explain.js';
import { createPostgresMarker } from './marker.js';
import { createPostgresMigrations } from './migrations.js';
import { refusePooler } from './pooler.js';
import { runSelect } from './select.js';
import { createSessionPool, type PostgresSession } from './session.js';

/** A PostgreSQL target with a pool for reads and one for writes. */
export function createPostgresDriver(database: DatabaseConfig, config: AgentConfig, timings: Timings): Driver {
  const options = { max: database.poolMax, maxRowBytes: config.limits.maxRowBytes, connectTimeoutMs: timings.httpConnectMs };
  const reads = createSessionPool({ ...options, url: database.readUrl, readOnly: true });
  const writes = createSessionPool({ ...options, url: database.url, readOnly: false });
  const common = { timings, engine, graceMs: timings.deadlineGraceMs };
  const marker = createPostgresMarker(config.marker);
  const toWrite = { ...common, pool: writes, marker };
  const toMigrate = { ...toWrite, migrations: createPostgresMigrations(toWrite), lockWaitMs: config.migrationLockWaitMs };

  return {
    dialect: 'postgresql',
    async connect({ onlyLook }): Promise<Connected> {
      // Looked at outside the pools, so that a reconnect never waits for running jobs.
      const opened = await Promise.allSettled([writes.open(), writes.open(), reads.open()]);
      const sessions = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      try {
        for (const one of opened) if (one.status === 'rejected') throw one.reason;
        const [one, other] = sessions as [PostgresSession, PostgresSession];
        await refusePooler(one, other);
        if (config.marker.mode === 'off') return { markerReady: false, markerProblem: null, readProblem: null };
        const markerProblem = await marker.prepare(one, onlyLook);
        return { markerReady: markerProblem === null, markerProblem, readProblem: null };
      } catch (error) {
        throw connectFailure(error);
      } finally {
        await Promise.all(sessions.map((session) => session.release()));
      }
    },
    select: (run) => runInPool(reads, run, errors, (session) => runSelect(session, run, { ...common, pool: reads })),
    migrate: (run, task) => migrateInPool(run, task, toMigrate),
    dml: (run) => runInPool(writes, run, errors, (session, onProven) => runDml(session, run, toWrite, onProven)),
    snapshot: (timeoutMs, signal) =>
      snapshotInPool(reads, signal, (session) => collectPostgresSchema(session, timeoutMs, signal)),
    explain: (run) =>
      explainInPool(run.read ? reads : writes, run, errors, {
        graceMs: timings.deadlineGraceMs,
        plan: (session) => explainText(session, run),
      }),
    errorText: errors.errorText,
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
