import type { Queryable } from './client.js';
import { type Parameters, parameters } from './parameters.js';
import { newestFirst, selectKeys, unionOf } from './request-places.js';
import { mostCounted } from './totals.js';

/** Counts the requests of disjoint conditions from an index, at most one more than `mostCounted` of each. */
export async function countUpToMost(db: Queryable, branches: (p: Parameters) => string[]): Promise<number> {
  const p = parameters();
  const most = p.add(mostCounted + 1);
  const keys = unionOf(branches(p).map((branch) => `${selectKeys(branch)} ${newestFirst} limit ${most}`));
  const [row] = await db.query<{ count: number }>(`select count(*) as count from (${keys}) as keys`, p.values);
  return row?.count ?? 0;
}

/**
 * How many PostgreSQL expects by its statistics, without a look at a row. The conditions are those of the list, so that what the caller may
 * not see is not in it. The statistics are of all requests: the estimate tells how common a value is among all, but only a caller who sees
 * more than `mostCounted` requests of that value gets one.
 */
export async function estimate(db: Queryable, branches: (p: Parameters) => string[]): Promise<number> {
  const p = parameters();
  const keys = unionOf(branches(p).map(selectKeys));
  const [row] = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(`explain (format json) ${keys}`, p.values);
  return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}
