import { sleep } from '../lib/sleep.js';
import type { BenchSystem } from './system.js';

const drainLimitMs = 900_000;

/** Requests with news that Temporal does not have yet. */
export async function countBacklog({ database }: BenchSystem): Promise<number> {
  const { rows } = await database.query('select count(distinct request_id)::int as count from outbox');
  return rows[0].count;
}

/** Milliseconds until Temporal has all news. */
export async function untilNoBacklog(system: BenchSystem): Promise<number> {
  const startedAt = performance.now();
  while ((await countBacklog(system)) > 0) {
    if (performance.now() - startedAt > drainLimitMs) throw new Error('the backlog does not go');
    await sleep(250);
  }
  return performance.now() - startedAt;
}
