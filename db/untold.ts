import type { Queryable } from './client.js';

/** Stored rows whose workflow has to be started, or told that they have changed. */
export interface Untold<Row extends { id: string }> {
  /** Takes up to `limit` rows that Temporal has not been told of, for ten seconds. Several workers take different ones. */
  take(db: Queryable, limit: number): Promise<Row[]>;
  /** Once Temporal has accepted them. A row that has changed since stays untold. */
  markTold(db: Queryable, rows: readonly Row[]): Promise<void>;
  /** What Temporal did not accept is taken again after the pause. */
  giveBack(db: Queryable, ids: readonly string[], pauseMs: number): Promise<void>;
}

export interface UntoldTable {
  /** Has the columns `id`, `told` and `taken_until`, and an index for `order` on rows that are not told. */
  name: string;
  order: string;
  /** Of each row, besides its `id`. */
  columns: string;
  /** An expression whose value differs after each change that Temporal must be told of. */
  state: string;
}

/** The texts of `table` are part of the statements: they never come from input. */
export function untoldRows<Row extends { id: string }>({ name, order, columns, state }: UntoldTable): Untold<Row> {
  type Taken = Row & { state: string };
  return {
    take: (db, limit) =>
      db.query<Taken>(
        `update ${name} d set taken_until = clock_timestamp() + interval '10 seconds'
         from (select id from ${name} where not told and (taken_until is null or taken_until <= clock_timestamp())
           order by ${order} limit $1 for update skip locked) as due
         where d.id = due.id returning d.id, ${columns}, (${state})::text as state`,
        [limit],
      ),
    async markTold(db, rows) {
      await db.query(
        `update ${name} d set told = true, taken_until = null
         from unnest($1::uuid[], $2::text[]) as known(id, state) where d.id = known.id and (${state})::text = known.state`,
        [rows.map(({ id }) => id), (rows as readonly Taken[]).map((row) => row.state)],
      );
    },
    async giveBack(db, ids, pauseMs) {
      await db.query(
        // The column rounds to milliseconds: without a pause it must not round up.
        `update ${name} set taken_until = date_trunc('milliseconds', clock_timestamp()) + $2::int * interval '1 millisecond'
         where id = any($1::uuid[]) and not told`,
        [ids, pauseMs],
      );
    },
  };
}
