import type { Queryable } from './client.js';
import { isMany, noteMany } from './known-many.js';
import { parameters } from './parameters.js';
import { type Branches, newestFirst, selectKeys, unionOf } from './request-branch.js';
import { readStateNow } from './request-places.js';
import { mostCounted } from './totals.js';

/** So many of a set are counted: more than is told one by one, so that it takes a while until the set may have fewer. */
const countedOnce = 2 * mostCounted;

/** Counts the requests of disjoint conditions from an index, unless more than `mostCounted` are known. Counts at most `countedOnce` of each. */
export async function countUpToMost(db: Queryable, branches: Branches): Promise<number> {
  if (await isMany(db, branches)) return mostCounted + 1;
  const state = await readStateNow(db);
  const p = parameters();
  const most = p.add(countedOnce);
  const keys = unionOf(branches(p).map((branch) => `${selectKeys(branch)} ${newestFirst} limit ${most}`));
  const [row] = await db.query<{ count: number }>(`select count(*) as count from (${keys}) as keys`, p.values);
  const count = row?.count ?? 0;
  noteMany(db, branches, state, count);
  return count;
}

/**
 * How many PostgreSQL expects by its statistics, without a look at a row. The conditions are those of the list, so that what the caller may
 * not see is not in it. The statistics are of all requests: the estimate tells how common a value is among all, but only a caller who sees
 * more than `mostCounted` requests of that value gets one.
 */
export async function estimate(db: Queryable, branches: Branches): Promise<number> {
  const p = parameters();
  const keys = unionOf(branches(p).map(selectKeys));
  const [row] = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(`explain (format json) ${keys}`, p.values);
  return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}
