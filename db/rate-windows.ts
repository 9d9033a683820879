import type { Queryable } from './client.js';

export interface Reservation {
  /** Calls reserved in this window, including this reservation; may exceed the limit. */
  taken: number;
  /** Identifies the window: its end by Postgres's clock, in milliseconds since the epoch. */
  windowEnd: number;
  /** Time left in the window. */
  leftMs: number;
}

/** Reserves `amount` calls in the window of `key` (OP-31). Starts a new window if there is none or it has ended. One statement on one row. */
export async function reserveCalls(db: Queryable, key: string, amount: number, windowMs: number): Promise<Reservation> {
  const [row] = await db.query<Reservation>(
    `insert into rate_windows as held (key, ends_at, taken)
     values ($1, statement_timestamp() + $3::int * interval '1 millisecond', $2::int)
     on conflict (key) do update set
       ends_at = case when ${isOpen} then held.ends_at else excluded.ends_at end,
       taken = case when ${isOpen} then held.taken else 0 end + excluded.taken
     returning taken, ends_at as "windowEnd",
       (extract(epoch from ends_at - statement_timestamp()) * 1000)::float8 as "leftMs"`,
    [key, amount, windowMs],
  );
  if (row === undefined) throw new Error('upsert without a row');
  return row;
}

/** Twice its length, because another call that was begun earlier may have waited for the row. */
const isOpen = `held.ends_at > statement_timestamp() and held.ends_at <= statement_timestamp() + 2 * $3::int * interval '1 millisecond'`;

/** Deletes at most `limit` ended windows. Returns how many. */
export async function deleteEndedWindows(db: Queryable, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from rate_windows where key = any(array(
       select key from rate_windows where ends_at <= statement_timestamp() order by ends_at limit $1 for update skip locked
     )) and ends_at <= clock_timestamp() returning 1`,
    [limit],
  );
  return rows.length;
}
