import type { Queryable } from './client.js';
import { isDead, type McpCallKey } from './mcp-calls.js';

export interface StreamNews {
  rpcId: string;
  /** As of `NewCall`; null if an older server began the call. */
  rights: string | null;
  lastSeq: number;
  ended: boolean;
  dead: boolean;
  events: { seq: number; message: string }[];
}

/** Few, because one event may be megabytes. */
const eventsAtOnce = 4;

/** A stream of the session and its next events after `seq`. Undefined if there is none. */
export async function readStream(db: Queryable, { id, sessionId }: McpCallKey, seq: number): Promise<StreamNews | undefined> {
  const rows = await db.query<Omit<StreamNews, 'events'> & { seq: number | null; message: string | null }>(
    `select c.rpc_id as "rpcId", c.rights, c.last_seq as "lastSeq", c.ended_at is not null as ended, ${isDead('c')} as dead, e.seq, e.message
     from mcp_calls c left join lateral (
       select seq, message from mcp_events where call_id = c.id and seq > $3 order by seq limit ${eventsAtOnce}
     ) as e on true where c.id = $1 and c.session_id = $2 and c.streams order by e.seq`,
    [id, sessionId, seq],
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  const events = rows.flatMap(({ seq, message }) => (seq === null || message === null ? [] : [{ seq, message }]));
  const { rpcId, rights, lastSeq, ended, dead } = first;
  return { rpcId, rights, lastSeq, ended, dead, events };
}
