import type { Queryable } from './client.js';

/** PostgreSQL's clock, by which everything expires. */
export async function databaseNow(db: Queryable): Promise<number> {
  const [row] = await db.query<{ now: number }>('select clock_timestamp() as now');
  return row?.now ?? 0;
}

/** The clock as it was just read; it goes on by this process's own time. */
export function clockFrom(now: number): () => number {
  const readAt = performance.now();
  return () => now + Math.floor(performance.now() - readAt);
}
