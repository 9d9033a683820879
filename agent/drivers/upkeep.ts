import type { AgentConfig } from '../config.js';
import type { Connected, ConnectFailure } from './driver.js';
import type { Marker } from './engine.js';
import type { Session, SessionPool } from './session.js';

/** A database as start and upkeep see it. */
interface Kept<S extends Session> {
  reads: SessionPool<S>;
  writes: SessionPool<S>;
  marker: Marker<S>;
  config: AgentConfig['marker'];
}

/**
 * Connects with every role and looks at the marker table; outside the pools, so that a reconnect never waits for running jobs. `examine` throws a
 * ConnectFailure when the sessions will not do, and tells what is wrong with the role for reads.
 */
export async function connectDatabase<S extends Session>(
  { reads, writes, marker, config }: Kept<S>,
  onlyLook: boolean,
  whyFailed: (error: unknown) => ConnectFailure,
  examine: (writer: S, reader: S) => Promise<string | null>,
): Promise<Connected> {
  const opened = await Promise.allSettled([writes.open(), reads.open()]);
  const sessions = opened.flatMap((one): S[] => (one.status === 'fulfilled' ? [one.value as S] : []));
  try {
    for (const one of opened) if (one.status === 'rejected') throw one.reason;
    const [writer, reader] = sessions as [S, S];
    const problem = { readProblem: await examine(writer, reader) };
    if (config.mode === 'off') return { ...problem, markerReady: false, markerProblem: null };
    const markerProblem = await marker.prepare(writer, onlyLook);
    return { ...problem, markerReady: markerProblem === null, markerProblem };
  } catch (error) {
    throw whyFailed(error);
  } finally {
    await Promise.all(sessions.map((session) => session.release()));
  }
}

/** Deletes old marker rows (AP-56); returns how many. */
export async function deleteOldMarkers<S extends Session>({ writes, marker, config }: Omit<Kept<S>, 'reads'>): Promise<number> {
  const session = await writes.open();
  try {
    return await marker.deleteOld(session, config.retentionDays);
  } finally {
    await session.release();
  }
}
