import type { Queryable } from './client.js';

/**
 * Takes the next round of work that all processes share. Only one of them gets true, once the round is due and nobody holds it. After
 * `holdMs`, another process may take over, in case the holder died.
 */
export async function takeRound(db: Queryable, name: string, holdMs: number): Promise<boolean> {
  const rows = await db.query(
    `insert into background_state (name, content, updated_at) values ($1, ${nextIn('$2')}, clock_timestamp())
     on conflict (name) do update set content = excluded.content, updated_at = excluded.updated_at
       where (background_state.content->>'next_at')::timestamptz <= clock_timestamp()
     returning name`,
    [name, holdMs],
  );
  return rows.length > 0;
}

/** The holder extends its hold, or ends its round and schedules the next. */
export async function setNextRound(db: Queryable, name: string, inMs: number): Promise<void> {
  await db.query(`update background_state set content = ${nextIn('$2')}, updated_at = clock_timestamp() where name = $1`, [
    name,
    inMs,
  ]);
}

const nextIn = (ms: string) => `jsonb_build_object('next_at', clock_timestamp() + ${ms}::bigint * interval '1 millisecond')`;
