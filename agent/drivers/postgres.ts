import type { AgentConfig, DatabaseConfig } from '../config.js';
import { failure } from '../outcome.js';
import { collectPostgresSchema } from '../schema/postgres.js';
import type { Timings } from '../timings.js';
import { type Connected, ConnectFailure, type Driver, type ExplainRun, type Run, type RunReport } from './driver.js';
import { runDml } from './postgres-dml.js';
import { connectFailure, errorText, isConnectivityError } from './postgres-errors.js';
import { runExplain } from './postgres-explain.js';
import { checkFlag, Interrupted, notStarted } from './postgres-guard.js';
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
      // Looked at outside the pools, so that a reconnect never waits for running jobs.
      const opened = await Promise.allSettled([writes.open(), reads.open()]);
      const sessions = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      try {
        for (const one of opened) if (one.status === 'rejected') throw one.reason;
        if (config.marker.mode === 'off') return { markerReady: false, markerProblem: null };
        const markerProblem = await marker.prepare(sessions[0] as PostgresSession, onlyLook);
        return { markerReady: markerProblem === null, markerProblem };
      } catch (error) {
        throw connectFailure(error);
      } finally {
        await Promise.all(sessions.map((session) => session.release()));
      }
    },
    select: (run) => withSession(reads, run, (session) => runSelect(session, run, { pool: reads, timings })),
    dml: (run) => withSession(writes, run, (session) => runDml(session, run, { pool: writes, timings, marker })),
    async snapshot(timeoutMs, signal) {
      const session = await reads.acquire(signal);
      if (session === null) throw new Interrupted();
      try {
        return await collectPostgresSchema(session, timeoutMs, signal);
      } finally {
        await session.release();
      }
    },
    explain: (run) => explainIn(run.read ? reads : writes, run, timings),
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

async function explainIn(pool: SessionPool, run: ExplainRun, timings: Timings): ReturnType<Driver['explain']> {
  let session: PostgresSession | null;
  const waited = new AbortController();
  const giveUp = () => waited.abort();
  const timer = setTimeout(giveUp, run.timeoutMs);
  run.signal.addEventListener('abort', giveUp, { once: true });
  try {
    session = await pool.acquire(waited.signal);
  } catch (error) {
    return { explained: { error: errorText(error) }, connectivity: error instanceof ConnectFailure };
  } finally {
    clearTimeout(timer);
    run.signal.removeEventListener('abort', giveUp);
  }
  if (session === null) return { explained: { error: 'driver error: no connection is free' }, connectivity: false };
  const report = await runExplain(session, run, timings.deadlineGraceMs);
  void session.release();
  if (report.error === null) return { explained: { plan: report.plan }, connectivity: false };
  return { explained: { error: report.text }, connectivity: isConnectivityError(report.error) };
}

async function withSession(
  pool: SessionPool,
  run: Run,
  work: (session: PostgresSession) => Promise<SelectReport>,
): Promise<RunReport> {
  const nothing = Promise.resolve();
  let session: PostgresSession | null;
  try {
    checkFlag(run);
    session = await pool.acquire(run.control.signal);
    if (session === null) throw new Interrupted();
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
