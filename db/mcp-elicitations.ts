import type { Database } from './client.js';
import type { McpCallKey } from './mcp-calls.js';
import { topic } from './notifications.js';

/** Numbers a question of a call. Null if the call has ended. */
export async function askElicitation(db: Database, { id, sessionId }: McpCallKey): Promise<number | null> {
  const rows = await db.query<{ number: number }>(
    `with asked as (
       update mcp_sessions s set next_elicitation = next_elicitation + 1 from mcp_calls c
       where s.id = $2 and c.id = $1 and c.session_id = s.id and c.ended_at is null returning s.next_elicitation - 1 as number
     ) insert into mcp_elicitations (session_id, number, call_id) select $2, number, $1 from asked returning number`,
    [id, sessionId],
  );
  return rows[0]?.number ?? null;
}

export interface ElicitationAnswer {
  action: 'accept' | 'decline' | 'cancel';
  /** Only of `accept`. */
  reason: string | null;
}

/** Takes the first answer (MC-31). False for any other, and when nobody waits any more. */
export function answerElicitation(
  db: Database,
  sessionId: string,
  number: number,
  { action, reason }: ElicitationAnswer,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const rows = await tx.query(
      `update mcp_elicitations e set action = $3, reason = $4 from mcp_calls c
       where e.session_id = $1 and e.number = $2 and e.action is null and c.id = e.call_id and c.ended_at is null returning 1`,
      [sessionId, number, action, reason],
    );
    tx.wake(topic.mcp(sessionId));
    return rows.length > 0;
  });
}

/** The answer, if there is one, of a call that goes on: for one that was cancelled nothing is begun any more (MC-13). */
export async function findAnswer(db: Database, sessionId: string, number: number): Promise<ElicitationAnswer | null> {
  const [row] = await db.query<ElicitationAnswer>(
    `select e.action, e.reason from mcp_elicitations e join mcp_calls c on c.id = e.call_id
     where e.session_id = $1 and e.number = $2 and e.action is not null and c.ended_at is null`,
    [sessionId, number],
  );
  return row ?? null;
}

/** Closes a question that nobody answered in time, so that a late answer is refused. The answer, if one was faster. */
export async function closeElicitation(db: Database, sessionId: string, number: number): Promise<ElicitationAnswer | null> {
  const rows = await db.query(
    `update mcp_elicitations set action = 'cancel' where session_id = $1 and number = $2 and action is null returning 1`,
    [sessionId, number],
  );
  return rows.length > 0 ? null : findAnswer(db, sessionId, number);
}
