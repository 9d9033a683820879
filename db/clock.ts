import type { Queryable } from './client.js';

/** PostgreSQL's clock, by which everything expires. */
export async function databaseNow(db: Queryable): Promise<number> {
  const [row] = await db.query<{ now: number }>('select clock_timestamp() as now');
  return row?.now ?? 0;
}
