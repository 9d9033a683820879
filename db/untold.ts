import type { Queryable, Transaction } from './client.js';

/** Stored rows whose workflow has to be started, or told that they have changed. */
export interface Untold<Row extends { id: string }> {
  /** Wakes who tells Temporal of them. */
  topic: string;
  /** Takes up to `limit` rows that Temporal has not been told of, for ten seconds. Several workers take different ones. */
  take(db: Queryable, limit: number): Promise<Row[]>;
  /** Once Temporal has accepted them. A row that has changed since stays untold. */
  markTold(db: Queryable, rows: readonly Row[]): Promise<void>;
  /** What Temporal did not accept is taken again after the pause. */
  giveBack(db: Queryable, ids: readonly string[], pauseMs: number): Promise<void>;
  /** Has Temporal told again of rows that no workflow has carried on for `graceMs`: it has lost them. Returns how many. */
  retell(tx: Transaction, graceMs: number, limit: number): Promise<number>;
}

export interface UntoldTable {
  /** Has the columns `id`, `told` and `taken_until`, and an index for `order` on rows that are not told. */
  name: string;
  order: string;
  /** Of each row, besides its `id`. */
  columns: string;
  /** An expression whose value differs after each change that Temporal must be told of. */
  state: string;
  /** Selects the ids of told rows that no workflow has carried on for $1 ms, $2 at most. */
  overdue: string;
  topic: string;
}

/** The texts of `table` are part of the statements: they never come from input. */
export function untoldRows<Row extends { id: string }>(table: UntoldTable): Untold<Row> {
  const { name, order, columns, state, overdue, topic } = table;
  type Taken = Row & { state: string };
  return {
    topic,
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
    async retell(tx, graceMs, limit) {
      const rows = await tx.query(`update ${name} set told = false where id in (${overdue}) returning 1 as one`, [
        graceMs,
        limit,
      ]);
      if (rows.length > 0) tx.wake(topic);
      return rows.length;
    },
  };
}
