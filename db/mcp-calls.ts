import type { Database, Queryable, Transaction } from './client.js';
import { topic } from './notifications.js';

export interface McpCallKey {
  id: string;
  sessionId: string;
}

export interface NewCall extends McpCallKey {
  /** JSON text. */
  rpcId: string;
  streams: boolean;
  /** Digest of the rights with which it is made. */
  rights: string;
}

/** Calls of one session that are answered as a stream, at once. */
export const maxStreams = 10;
/** A process that works on a call says so more often than every 15 s (MC-24). */
export const isDead = (call: string) => `${call}.alive_at < clock_timestamp() - interval '15 seconds'`;
/** How much of a session's ended streams is kept for a client that reconnects. The newest is kept whatever its size. */
const keptBytes = 8 * 1024 * 1024;
const keptCalls = 50;

/** The response written to the stream of each dead call that makes way for a new one. */
export interface Interruption {
  interrupted: (rpcId: string) => string;
  buffer: number;
}

/** Begins a call unless its id is in use or the session has too many streams. A dead call's id is free (MC-24). `gone`: the session has ended. */
export async function beginCall(
  db: Database,
  call: NewCall,
  interruption: Interruption,
): Promise<'begun' | 'in_flight' | 'too_many' | 'gone'> {
  // Without a stream to count or a dead call to replace, one statement is enough.
  if (!call.streams && (await insertCall(db, call))) return 'begun';
  return db.transaction(async (tx) => {
    // Streams of a session are counted one after another, each with those that have begun before it.
    const [session] = await tx.query('select 1 from mcp_sessions where id = $1 for no key update', [call.sessionId]);
    if (session === undefined) return 'gone';
    if (call.streams && (await insertCall(tx, call))) return 'begun';
    return beginAmong(tx, call, interruption);
  });
}

/** False if the id is in use, the session has enough streams, or it has ended. */
async function insertCall(db: Queryable, { id, sessionId, rpcId, streams, rights }: NewCall): Promise<boolean> {
  const rows = await db.query(
    `insert into mcp_calls (id, session_id, rpc_id, streams, rights) select $1::uuid, s.id, $3::text, $4::boolean, $5::text from mcp_sessions s
     where s.id = $2 and (not $4::boolean or (select count(*) from mcp_calls c where c.session_id = $2 and c.ended_at is null and c.streams) < ${maxStreams})
     for key share on conflict (session_id, rpc_id) where ended_at is null do nothing returning 1`,
    [id, sessionId, rpcId, streams, rights],
  );
  return rows.length > 0;
}

/** Says what stands in the way, or ends it if its process died. */
async function beginAmong(
  tx: Transaction,
  call: NewCall,
  { interrupted, buffer }: Interruption,
): Promise<'begun' | 'in_flight' | 'too_many'> {
  const open = await tx.query<{ id: string; rpcId: string; streams: boolean; dead: boolean }>(
    `select c.id, c.rpc_id as "rpcId", c.streams, ${isDead('c')} as dead from mcp_calls c where c.session_id = $1 and c.ended_at is null`,
    [call.sessionId],
  );
  const living = open.filter(({ dead }) => !dead);
  if (living.some(({ rpcId }) => rpcId === call.rpcId)) return 'in_flight';
  if (call.streams && living.filter(({ streams }) => streams).length >= maxStreams) return 'too_many';
  for (const { id, rpcId, dead } of open) if (dead) await endCall(tx, id, { response: interrupted(rpcId), buffer, who: 'dead' });
  return (await insertCall(tx, call)) ? 'begun' : 'in_flight';
}

/**
 * Says that these calls are alive; answers those that have not ended. A row that another statement holds is not waited for: it gets its sign in the
 * next round.
 */
export async function signsOfLife(db: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `with free as (select id from mcp_calls where id = any($1::uuid[]) and ended_at is null for no key update skip locked),
     signed as (update mcp_calls c set alive_at = clock_timestamp() from free where c.id = free.id)
     select id from mcp_calls where id = any($1::uuid[]) and ended_at is null`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/** False if the call has ended, whoever ended it. */
export async function isInFlight(db: Queryable, id: string): Promise<boolean> {
  return (await db.query('select 1 from mcp_calls where id = $1 and ended_at is null', [id])).length > 0;
}

/** Part of a statement whose $3 is how many events a stream keeps (MC-23). */
const dropped = (call: string) =>
  `dropped as (delete from mcp_events e using ${call} c where e.call_id = c.id and e.seq <= c.last_seq - $3::int)`;

/** Adds an event to a stream; beyond `buffer` events, the oldest are dropped (MC-23). False if the call has ended. */
export async function addEvent(db: Queryable, id: string, message: string, buffer: number): Promise<boolean> {
  const rows = await db.query(
    `with said as (
       update mcp_calls set last_seq = last_seq + 1, bytes = bytes + octet_length($2) where id = $1 and ended_at is null returning id, last_seq
     ), kept as (insert into mcp_events (call_id, seq, message) select id, last_seq, $2 from said), ${dropped('said')} select 1 from said`,
    [id, message, buffer],
  );
  return rows.length > 0;
}

export interface CallEnd {
  response: string;
  /** As of `addEvent`. */
  buffer: number;
  /** `dead`: only a call whose process died. */
  who?: 'any' | 'dead';
}

/** The ended calls of a session beyond what is kept (MC-23); `newest` is the call that this very statement ends, if it does, and its `bytes`. */
const surplus = (session: string, newest: { calls: number; bytes: string }) =>
  `delete from mcp_calls where session_id = ${session} and ended_at is not null and (not streams or id in (
     select id from (
       select id, row_number() over newest as place, sum(bytes) over newest as held from mcp_calls
       where session_id = ${session} and ended_at is not null and streams window newest as (order by ended_at desc, id)
     ) as ended where place + ${newest.calls} > 1 and (place + ${newest.calls} > ${keptCalls} or held + ${newest.bytes} > ${keptBytes})))`;

/**
 * Ends a call with its response, which its stream keeps, and deletes what the session then keeps too much of. Only the first end counts: false for
 * any other.
 */
export async function endCall(db: Queryable, id: string, { response, buffer, who = 'any' }: CallEnd): Promise<boolean> {
  const rows = await db.query(
    `with ended as (
       update mcp_calls set ended_at = clock_timestamp(), last_seq = last_seq + streams::int, bytes = bytes + octet_length($2)
       where id = $1 and ended_at is null${who === 'dead' ? ` and ${isDead('mcp_calls')}` : ''} returning id, session_id, streams, last_seq, bytes
     ), told as (insert into mcp_events (call_id, seq, message) select id, last_seq, $2 from ended where streams),
     ${dropped('ended')},
     forgotten as (${surplus('(select session_id from ended)', { calls: 1, bytes: '(select bytes from ended)' })})
     select 1 from ended`,
    [id, response, buffer],
  );
  return rows.length > 0;
}

/** Ends a call whose response is not a stream, so that nothing keeps it. False if somebody ended it before, null if it is gone. */
export async function endPlainCall(db: Queryable, id: string): Promise<boolean | null> {
  const rows = await db.query<{ first: boolean }>('delete from mcp_calls where id = $1 returning ended_at is null as first', [
    id,
  ]);
  return rows[0]?.first ?? null;
}

/** Ends the session's call of that JSON-RPC id without a response (MC-13). */
export async function cancelCall(db: Database, sessionId: string, rpcId: string): Promise<boolean> {
  const rows = await db.transaction(async (tx) => {
    tx.wake(topic.mcp(sessionId));
    return tx.query(
      'update mcp_calls set ended_at = clock_timestamp() where session_id = $1 and rpc_id = $2 and ended_at is null returning 1',
      [sessionId, rpcId],
    );
  });
  return rows.length > 0;
}

/** Deletes ended calls beyond what a session may keep, after calls that ended without a response. */
export async function dropEnded(db: Queryable, sessionId: string): Promise<void> {
  await db.query(surplus('$1', { calls: 0, bytes: '0' }), [sessionId]);
}

/** Calls whose process died, for a round that answers them (MC-24). */
export const listDead = (db: Queryable, limit: number): Promise<{ id: string; sessionId: string; rpcId: string }[]> =>
  db.query(
    `select c.id, c.session_id as "sessionId", c.rpc_id as "rpcId" from mcp_calls c where c.ended_at is null and ${isDead('c')} limit $1`,
    [limit],
  );

/** Deletes at most `limit` calls that ended more than 300 s ago (MC-23). Returns how many. */
export async function deleteOldCalls(db: Queryable, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from mcp_calls where id = any(array(
       select id from mcp_calls where ended_at < statement_timestamp() - interval '300 seconds' order by ended_at limit $1 for update skip locked
     )) returning 1`,
    [limit],
  );
  return rows.length;
}
