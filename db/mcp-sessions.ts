import type { Database, Queryable, Transaction } from './client.js';
import { topic } from './notifications.js';

export interface McpSession {
  id: string;
  subjectId: string;
  protocolVersion: string;
  /** What the client calls itself: a text of ours for people, made of what it said. */
  client: string;
  elicits: boolean;
  active: boolean;
}

export interface SessionLimits {
  ttlSecs: number;
  max: number;
  maxOfSubject: number;
}

const columns = `id, subject_id as "subjectId", protocol_version as "protocolVersion", client, elicits, active`;
/** Uses within a second are stored once. So a session lives up to a second longer than is set, and never less. */
const unexpired = `last_used_at > clock_timestamp() - ($2::int + 1) * interval '1 second'`;

/** Makers of sessions wait for each other, so that the limits are exact over all processes. */
const makersLock = 7_251_902;

/** Stores a session unless a limit is reached, which it then names. */
export function insertSession(
  db: Database,
  session: Omit<McpSession, 'active'>,
  { ttlSecs, max, maxOfSubject }: SessionLimits,
): Promise<'made' | 'full' | 'subject_full'> {
  return db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [makersLock]);
    const [held] = await tx.query<{ all: number; own: number }>(
      `select count(*) as all, count(*) filter (where subject_id = $1) as own from mcp_sessions where ${unexpired}`,
      [session.subjectId, ttlSecs],
    );
    if (held === undefined || held.all >= max) return 'full';
    if (held.own >= maxOfSubject) return 'subject_full';
    const { id, subjectId, protocolVersion, client, elicits } = session;
    await tx.query('insert into mcp_sessions (id, subject_id, protocol_version, client, elicits) values ($1, $2, $3, $4, $5)', [
      id,
      subjectId,
      protocolVersion,
      client,
      elicits,
    ]);
    return 'made';
  });
}

/** The session, which this use keeps alive if it is the subject's own (MC-21). Undefined if it is unknown or expired. */
export async function useSession(
  db: Queryable,
  id: string,
  { subjectId, ttlSecs }: { subjectId: string; ttlSecs: number },
): Promise<McpSession | undefined> {
  const [row] = await db.query<McpSession>(
    `with used as (
       update mcp_sessions set last_used_at = clock_timestamp()
       where id = $1 and subject_id = $3 and ${unexpired} and last_used_at <= clock_timestamp() - interval '1 second'
     ) select ${columns} from mcp_sessions where id = $1 and ${unexpired}`,
    [id, ttlSecs, subjectId],
  );
  return row;
}

/** `notifications/initialized`. */
export async function activateSession(db: Queryable, id: string): Promise<void> {
  await db.query('update mcp_sessions set active = true where id = $1 and not active', [id]);
}

/** Ends a session with its calls and streams. */
export async function deleteSession(db: Database, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('delete from mcp_sessions where id = $1', [id]);
    tx.wake(topic.mcp(id));
  });
}

/** With a suspended or deleted user (MC-21). */
export async function deleteSessionsOf(tx: Transaction, subjectId: string): Promise<void> {
  const rows = await tx.query<{ id: string }>('delete from mcp_sessions where subject_id = $1 returning id', [subjectId]);
  tx.wake(...rows.map(({ id }) => topic.mcp(id)));
}

/** Deletes at most `limit` expired sessions. Returns how many. */
export async function deleteExpiredSessions(db: Queryable, ttlSecs: number, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from mcp_sessions where id = any(array(
       select id from mcp_sessions where last_used_at <= clock_timestamp() - ($2::int + 1) * interval '1 second' limit $1 for update skip locked
     )) returning 1`,
    [limit, ttlSecs],
  );
  return rows.length;
}
