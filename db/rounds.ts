import type { Queryable } from './client.js';

/**
 * Takes the next round of work that all processes share. Only one of them gets true, once the round is due and nobody holds it. After
 * `holdMs`, another process may take over, in case the holder died. A round that is further away than any that is set now was set by a clock
 * that has gone back since: it would not come for as long as that clock was ahead, so it is due.
 */
export async function takeRound(db: Queryable, name: string, holdMs: number, everyMs: number): Promise<boolean> {
  const rows = await db.query(
    `insert into background_state (name, content, updated_at) values ($1, ${nextAt}, clock_timestamp())
     on conflict (name) do update set content = excluded.content, updated_at = excluded.updated_at
       where (background_state.content->>'next_at')::timestamptz not between clock_timestamp() and clock_timestamp() + $3::bigint * interval '1 millisecond'
     returning name`,
    [name, holdMs, Math.max(holdMs, everyMs)],
  );
  return rows.length > 0;
}

/** The holder extends its hold, or ends its round and schedules the next. */
export async function setNextRound(db: Queryable, name: string, inMs: number): Promise<void> {
  await db.query(`update background_state set content = ${nextAt}, updated_at = clock_timestamp() where name = $1`, [name, inMs]);
}

/** In $2 milliseconds. */
const nextAt = `jsonb_build_object('next_at', clock_timestamp() + $2::bigint * interval '1 millisecond')`;
