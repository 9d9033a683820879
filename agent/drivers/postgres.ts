import type { AgentConfig, DatabaseConfig } from '../config.js';
import { failure } from '../outcome.js';
import type { Timings } from '../timings.js';
import { type Connected, ConnectFailure, type Driver, type Run, type RunReport } from './driver.js';
import { runDml } from './postgres-dml.js';
import { connectFailure, isConnectivityError } from './postgres-errors.js';
import { checkFlag, notStarted } from './postgres-guard.js';
import { createPostgresMarker } from './postgres-marker.js';
import { runSelect, type SelectReport } from './postgres-select.js';
import { createSessionPool, type PostgresSession, type SessionPool } from './postgres-session.js';

/** A PostgreSQL target with a pool for reads and one for writes. */
export function createPostgresDriver(database: DatabaseConfig, config: AgentConfig, timings: Timings): Driver {
  const options = { max: database.poolMax, maxRowBytes: config.limits.maxRowBytes, connectTimeoutMs: timings.httpConnectMs };
  const reads = createSessionPool({ ...options, url: database.readUrl, readOnly: true });
  const writes = createSessionPool({ ...options, url: database.url, readOnly: false });
  const marker = createPostgresMarker(config.marker);

  return {
    dialect: 'postgresql',
    async connect({ onlyLook }): Promise<Connected> {
      const [writing, reading] = await Promise.allSettled([writes.acquire(), reads.acquire()]);
      const sessions = [writing, reading].flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      try {
        if (writing.status === 'rejected') throw writing.reason;
        if (reading.status === 'rejected') throw reading.reason;
        if (config.marker.mode === 'off') return { markerReady: false, markerProblem: null };
        const markerProblem = await marker.prepare(writing.value, onlyLook);
        return { markerReady: markerProblem === null, markerProblem };
      } catch (error) {
        throw connectFailure(error);
      } finally {
        await Promise.all(sessions.map((session) => session.release()));
      }
    },
    select: (run) => withSession(reads, run, (session) => runSelect(session, run, { pool: reads, timings })),
    dml: (run) => withSession(writes, run, (session) => runDml(session, run, { pool: writes, timings, marker })),
    async deleteOldMarkers() {
      const session = await writes.acquire();
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

async function withSession(
  pool: SessionPool,
  run: Run,
  work: (session: PostgresSession) => Promise<SelectReport>,
): Promise<RunReport> {
  const nothing = Promise.resolve();
  let session: PostgresSession;
  try {
    checkFlag(run);
    session = await pool.acquire();
  } catch (error) {
    return { outcome: notStarted(error, run), connectivity: error instanceof ConnectFailure, released: nothing };
  }
  if (run.control.requested) {
    return { outcome: run.control.confirmed('not_started', run.timeoutSecs), connectivity: false, released: session.release() };
  }
  if (!run.mayStart()) {
    const outcome = failure('not_started', 'token verification failed: token expired');
    return { outcome, connectivity: false, released: session.release() };
  }
  const { outcome, error } = await work(session);
  return { outcome, connectivity: isConnectivityError(error), released: session.release() };
}
