import type { Caller, UserCaller } from '../domain/caller.js';
import type { Queryable } from './client.js';
import { isMany } from './known-many.js';
import { type Parameters, parameters } from './parameters.js';
import { type Mark, markOfStatus } from './request-blocks.js';
import { type Branch, type Branches, narrowed, newestFirst, selectKeys, unionOf } from './request-branch.js';
import { countUpToMost, estimate } from './request-count.js';
import { columns, fromNewest, type ListedRequest, type Page, readPage, type Start, type Wanted } from './request-page.js';
import { compared, type Places, placesNow, placesOf, step } from './request-places.js';
import {
  approvable,
  approvableOfPending,
  decidedByMe,
  filtered,
  lasting,
  moving,
  type RequestFilters,
} from './request-visibility.js';
import { noneWait, type Waiting, waitingNow } from './request-waiting.js';
import { type Counted, mostCounted, totalBy, totalCounted } from './totals.js';

interface Listed extends Counted {
  rows: ListedRequest[];
}

/**
 * One page of the requests that the caller can view (RQ-11), newest first, and their total (HT-83). With `pendingForMe` those that the caller can
 * approve now (RQ-36), with `decidedByMe` those that the caller has decided on.
 */
export async function listRequests(
  db: Queryable,
  caller: Caller,
  filters: RequestFilters,
  { pendingForMe, decidedByMe: isDecided = false, ...page }: Page & { pendingForMe: boolean; decidedByMe?: boolean },
): Promise<Listed> {
  if (caller.kind !== 'user') return { rows: [], total: 0, isEstimate: false };
  if (!pendingForMe && !isDecided) return listVisible(db, caller, filters, page);
  const branchWith = (waits: typeof approvable) => (p: Parameters) => {
    const mine = isDecided ? decidedByMe(caller, p) : { where: 'true' };
    return narrowed(narrowed(mine, pendingForMe ? waits(caller, p) : 'true'), filtered(filters, p));
  };
  const branch = branchWith(approvable);
  const branches: Branches = (p) => [branch(p)];
  const wanted: Wanted = { caller, branches, estimated: (p) => [branchWith(approvableOfPending)(p)] };
  if (await isMany(db, branches)) return listMany(db, wanted, page);
  return (await listFew(db, caller, branch, page)) ?? listByCounting(db, wanted, page);
}

/** One look at what meets a condition serves the count and the page: half the time where thousands wait. Null if there are more than `mostCounted`. */
async function listFew(db: Queryable, caller: UserCaller, branch: (p: Parameters) => Branch, page: Page): Promise<Listed | null> {
  const p = parameters();
  const keys = `${selectKeys(branch(p))} ${newestFirst} limit ${p.add(mostCounted + 1)}`;
  const [limit, offset] = [p.add(page.limit), p.add(page.offset)];
  const found = await db.query<(ListedRequest | { id: null }) & { total: number }>(
    `with keys as materialized (${keys}), page as (
       select ${columns(caller, p)} from (select id from keys ${newestFirst} limit ${limit} offset ${offset}) as ids join requests r using (id))
     select * from (select count(*) as total from keys) as counted left join page on true order by created_at desc, id desc`,
    p.values,
  );
  const total = found[0]?.total ?? 0;
  if (total > mostCounted) return null;
  return { total, isEstimate: false, rows: found.flatMap((row) => (row.id === null ? [] : [row])) };
}

async function listVisible(db: Queryable, caller: UserCaller, filters: RequestFilters, page: Page): Promise<Listed> {
  const seen =
    (wanted: RequestFilters): Branches =>
    (p) =>
      lasting(caller, p).map((where) => narrowed({ where }, filtered(wanted, p)));
  const set = seen(filters);
  const { status } = filters;
  const others = (p: Parameters) => moving(caller, status, p).map((branch) => narrowed(branch, filtered(filters, p)));
  const known = others(parameters()).length === 0 ? noneWait : await waitingNow(db, others);
  if (known === null) return listMany(db, { caller, branches: (p) => [...set(p), ...others(p)] }, page);
  if (status === undefined) return listByPlaces(db, { caller, branches: set }, known, page);
  // At least so many of the set precede the page.
  const offset = page.offset - known.keys.length;
  const isDeep = offset > step && (status !== 'pending' || known === noneWait);
  const mark = isDeep ? await markOfStatus(db, seen({ ...filters, status: undefined }), status, offset) : null;
  return listByCounting(db, { caller, branches: set }, page, { mark, waiting: known });
}

async function listByCounting(db: Queryable, wanted: Wanted, page: Page, start: Start = fromNewest): Promise<Listed> {
  const skipped = start.mark?.newer ?? 0;
  const counted = skipped > mostCounted ? skipped : await countUpToMost(db, wanted.branches);
  const waits = start.waiting.keys.length;
  const total = counted + waits;
  if (counted <= mostCounted) {
    const rows = await readPage(db, wanted, { ...page, total }, { ...start, others: counted });
    return { ...totalCounted(total, page, rows.length), rows };
  }
  return listMany(db, wanted, page, start);
}

/** The page of more than `mostCounted` requests, with an estimate of their number. */
async function listMany(db: Queryable, wanted: Wanted, page: Page, start: Start = fromNewest): Promise<Listed> {
  const [estimated, rows] = await Promise.all([
    estimate(db, wanted.estimated ?? wanted.branches),
    readPage(db, wanted, { ...page, total: Number.POSITIVE_INFINITY }, start),
  ]);
  return { ...totalBy(estimated + start.waiting.keys.length, page, rows.length), rows };
}

/** How often a list restarts because requests were rewritten meanwhile. After that it counts without places. */
const maxAttempts = 2;

/** Older requests are counted and skipped by their remembered places. Newer ones are counted each time. */
async function listByPlaces(db: Queryable, wanted: Wanted, known: Waiting, page: Page): Promise<Listed> {
  const { branches: set } = wanted;
  let places = await placesOf(db, set);
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const { rewrite, newer } = await countNewer(db, set, places);
    // Many newer ones are first added to the places: as many as one call can, and only up to the oldest open transaction, before which the
    // count is final.
    if (rewrite === places.rewrite && (newer < step || attempt === maxAttempts)) {
      const total = places.count + newer + known.keys.length;
      const mark = markBefore(places, { ...page, newer, waiting: known.keys.length });
      const rows = await readPage(db, wanted, { ...page, total }, { mark, waiting: known });
      return { ...totalCounted(total, page, rows.length), rows };
    }
    places = await placesNow(db, set, places);
  }
  return listByCounting(db, wanted, page, { mark: null, waiting: known });
}

interface Newer {
  rewrite: number;
  /** In the set, but after the known places. */
  newer: number;
}

async function countNewer(db: Queryable, set: Branches, { last }: Places): Promise<Newer> {
  const p = parameters();
  const isLater = compared('>', last, p);
  const newer = unionOf(set(p).map((branch) => selectKeys(narrowed(branch, isLater))));
  const [row] = await db.query<Newer>(
    `select (select number from request_rewrites) as rewrite, (select count(*) from (${newer}) as keys) as newer`,
    p.values,
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
}

interface Depth {
  offset: number;
  newer: number;
  waiting: number;
}

/** The oldest mark with at most `offset` listed requests newer than it; null if the page begins before all marks. */
function markBefore({ count, marks }: Places, { offset, newer, waiting: others }: Depth): Mark | null {
  const fromOldest = count + newer + others - offset;
  const index = Math.max(Math.ceil(fromOldest / step), 1) - 1;
  const mark = marks[index];
  return mark === undefined ? null : { ...mark, newer: newer + count - (index + 1) * step };
}
