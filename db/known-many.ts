import type { Queryable } from './client.js';
import { memoryOfSets } from './known-sets.js';
import { parameters } from './parameters.js';
import { anyOf, type Branches } from './request-branch.js';
import { type StateNow, stateNow } from './request-places.js';
import { at } from './row-types.js';
import { mostCounted } from './totals.js';

/** What was counted of a set, less all that may have left it. Changes with an earlier `updated_at` than `since` are in the count. */
interface Known extends StateNow {
  atLeast: number;
}

/** More changes than this are not worth following: the set is counted again. */
const maxChanges = mostCounted;
/** After so many, later calls read only what changes from then on. Those of the last seconds are subtracted twice, hence not after each. */
const maxRead = 1000;

const memoryOf = memoryOfSets<Known>();

/**
 * Whether a set is known to have more than `mostCounted` requests still, by a count that was noted and the changes since: what has changed and is not in
 * the set now may have left it. False if that is not known.
 */
export async function isMany(db: Queryable, branches: Branches): Promise<boolean> {
  const memory = memoryOf(db, branches);
  const known = memory.get();
  if (known === undefined) return false;
  const now = await changesSince(db, branches, known.since);
  const atLeast = known.atLeast - now.gone;
  const isKnown = now.rewrite === known.rewrite && now.changes <= maxChanges && atLeast > mostCounted;
  if (!isKnown) memory.forget();
  else if (now.changes > maxRead) memory.extend({ ...known, since: now.since, atLeast });
  return isKnown;
}

/** Notes that a set had `atLeast` requests, if that is enough to be told from fewer for a while. `state` was read before the count began. */
export function noteMany(db: Queryable, branches: Branches, state: StateNow, atLeast: number): void {
  if (atLeast > mostCounted) memoryOf(db, branches).learn({ ...state, atLeast });
}

interface Changes extends StateNow {
  changes: number;
  gone: number;
}

/** A request in the inbox leaves it at `expires_at`, before anything is written. */
async function changesSince(db: Queryable, branches: Branches, since: number): Promise<Changes> {
  const p = parameters();
  const from = `${p.add(at(since))}::timestamptz`;
  const [row] = await db.query<Changes>(
    `select state.*, changed.* from (${stateNow}) as state, lateral (
       select count(*) as changes, count(*) filter (where not isin) as gone from (
         select coalesce(${anyOf(branches(p))}, false) as isin from requests r
         where r.updated_at >= ${from} or (r.status = 'pending' and r.expires_at >= ${from} and r.expires_at <= statement_timestamp())
         limit ${p.add(maxChanges + 1)}) as each) as changed`,
    p.values,
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
}
