import { stopAfter } from '../../lib/deadline.js';
import type { AgentConfig } from '../config-values.js';
import type { Connected, ConnectFailure } from './driver.js';
import type { Marker } from './engine.js';
import type { Session, SessionPool } from './session.js';

/** A database as startup and upkeep see it. */
interface Kept<S extends Session> {
  reads: SessionPool<S>;
  writes: SessionPool<S>;
  marker: Marker<S>;
  config: AgentConfig['marker'];
  silentMs: number;
}

/**
 * Connects with every role and checks the marker table. Works outside the pools, so that a reconnect never waits for running
 * jobs. `examine` throws a ConnectFailure when the sessions are unsuitable, and returns notes for people; `another` opens a
 * further writer for it.
 */
export async function connectDatabase<S extends Session>(
  { reads, writes, marker, config, silentMs }: Kept<S>,
  onlyLook: boolean,
  whyFailed: (error: unknown) => ConnectFailure,
  examine: (writer: S, reader: S, another: () => Promise<S>) => Promise<Pick<Connected, 'readProblem' | 'nameProblem'>>,
): Promise<Connected> {
  const sessions: S[] = [];
  let isOver = false;
  const open = async (pool: SessionPool<S>) => {
    const session = await pool.open();
    sessions.push(session);
    // One that opens too late would have no time limit any more.
    if (isOver) session.destroy();
    return session;
  };
  const destroyAll = () => {
    isOver = true;
    for (const session of sessions) session.destroy();
  };
  const look = async () => {
    const [writing, reading] = await Promise.allSettled([open(writes), open(reads)]);
    if (writing.status === 'rejected') throw writing.reason;
    if (reading.status === 'rejected') throw reading.reason;
    const problems = await examine(writing.value, reading.value, () => open(writes));
    if (config.mode === 'off') return { ...problems, markerReady: false, markerProblem: null, markerNote: null };
    const { problem, note } = await marker.prepare(writing.value, onlyLook);
    return { ...problems, markerReady: problem === null, markerProblem: problem, markerNote: note };
  };
  const lookAndRelease = async () => {
    try {
      return await look();
    } finally {
      await Promise.all(sessions.map((session) => session.release()));
    }
  };
  try {
    return await stopAfter(silentMs, destroyAll, lookAndRelease);
  } catch (error) {
    throw whyFailed(error);
  }
}

/** Asks on a session outside the pool, and ends it when there is no answer in time. */
export async function askAlone<S extends Session, T>(
  pool: SessionPool<S>,
  silentMs: number,
  ask: (session: S) => Promise<T>,
): Promise<T> {
  const session = await pool.open();
  try {
    return await stopAfter(
      silentMs,
      () => session.destroy(),
      () => ask(session),
    );
  } finally {
    await session.release();
  }
}

/** A server that falls silent meanwhile must not end the clean-up of its database until the agent restarts. */
const deletionMs = 600_000;

/** Deletes old marker rows within ten minutes (AP-56); returns how many. */
export function deleteOldMarkers<S extends Session>({ writes, marker, config }: Omit<Kept<S>, 'reads'>): Promise<number> {
  return askAlone(writes, deletionMs, (session) => marker.deleteOld(session, config.retentionDays));
}
