import type { Queryable } from './client.js';

/**
 * Takes the next part of a piece of work that all processes share: true for one of them, when the last round has ended long enough ago and
 * nobody works on it. It is held for `holdMs`, after which another process takes over from one that died.
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

/** The holder goes on, or is done and the next round begins in so long. */
export async function setNextRound(db: Queryable, name: string, inMs: number): Promise<void> {
  await db.query(`update background_state set content = ${nextIn('$2')}, updated_at = clock_timestamp() where name = $1`, [
    name,
    inMs,
  ]);
}

const nextIn = (ms: string) => `jsonb_build_object('next_at', clock_timestamp() + ${ms}::bigint * interval '1 millisecond')`;
