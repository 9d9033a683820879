import type { Caller } from '../domain/caller.js';
import type { Status } from '../domain/request/types.js';
import type { Queryable } from './client.js';
import { type Parameters, parameters } from './parameters.js';
import { type Counted, countUpToMost, estimate, mostCounted, totalBy } from './request-count.js';
import {
  compared,
  newestFirst,
  type Place,
  type Places,
  placesNow,
  placesOf,
  selectKeys,
  step,
  unionOf,
} from './request-places.js';
import { approvable, filtered, lasting, type RequestFilters, type User, waiting } from './request-visibility.js';

export interface ListedRequest {
  id: string;
  requester: string;
  database: string;
  environment: string;
  operation: string;
  detail: string;
  status: Status;
  reason: string | null;
  emergency: boolean;
  created_at: number;
  updated_at: number;
  expires_at: number | null;
  current_step: number;
  total_steps: number;
  step_selectors: string[];
}

const columns = `r.id, r.requester, r.database, r.environment, r.operation, r.detail, r.status, r.reason, r.emergency, r.created_at, r.updated_at, r.expires_at,
  r.current_step, coalesce(jsonb_array_length(r.workflow->'steps'), 0) as total_steps, r.step_selectors`;

export interface Page {
  limit: number;
  offset: number;
}

interface Listed extends Counted {
  rows: ListedRequest[];
}

/** One page of the requests that the caller can view (RQ-11), or with `pendingForMe` can approve now (RQ-36), newest first, and their total (HT-83). */
export async function listRequests(
  db: Queryable,
  caller: Caller,
  filters: RequestFilters,
  { pendingForMe, ...page }: Page & { pendingForMe: boolean },
): Promise<Listed> {
  if (caller.kind !== 'user') return { rows: [], total: 0, isEstimate: false };
  if (pendingForMe) return listByCounting(db, (p) => [`${approvable(caller, p)} and ${filtered(filters, p)}`], page);
  // The members of a status change all the time, so their places cannot be remembered.
  if (filters.status !== undefined) return listByCounting(db, (p) => visibleBranches(caller, filters, p), page);
  return listByPlaces(db, caller, filters, page);
}

type Branches = (p: Parameters) => string[];

function visibleBranches(caller: User, filters: RequestFilters, p: Parameters): string[] {
  // Only pending requests wait for somebody.
  const canWait = filters.status === undefined || filters.status === 'pending';
  const branches = [...lasting(caller, p), canWait ? waiting(caller, p) : null];
  return branches.flatMap((branch) => (branch === null ? [] : `${branch} and ${filtered(filters, p)}`));
}

async function listByCounting(db: Queryable, branches: Branches, page: Page): Promise<Listed> {
  const total = await countUpToMost(db, branches);
  if (total <= mostCounted) return { total, isEstimate: false, rows: await readPage(db, branches, { ...page, total }) };
  const [estimated, rows] = await Promise.all([
    estimate(db, branches),
    readPage(db, branches, { ...page, total: Number.POSITIVE_INFINITY }),
  ]);
  return { ...totalBy(estimated, page, rows.length), rows };
}

/** How often a list restarts because requests were rewritten meanwhile. After that it counts without places. */
const maxAttempts = 2;

/** Older requests are counted and skipped by their remembered places. Newer ones and those waiting for the caller are counted each time. */
async function listByPlaces(db: Queryable, caller: User, filters: RequestFilters, page: Page): Promise<Listed> {
  const set: Branches = (p) => lasting(caller, p).map((branch) => `${branch} and ${filtered(filters, p)}`);
  const beyond = (p: Parameters) => {
    const condition = waiting(caller, p);
    return condition === null ? null : `${condition} and ${filtered(filters, p)}`;
  };
  const all: Branches = (p) => visibleBranches(caller, filters, p);
  let places = await placesOf(db, set);
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const found = await countNewer(db, set, beyond, places);
    // Many newer ones are first added to the places: as many as one call can, and only up to the oldest open transaction, before which the
    // count is final.
    if (found.rewrite === places.rewrite && (found.newer < step || attempt === maxAttempts)) {
      const total = places.count + found.newer + found.waiting;
      return {
        total,
        isEstimate: false,
        rows: await readPage(db, all, { ...page, total }, { mark: markBefore(places, { ...page, ...found }), beyond }),
      };
    }
    places = await placesNow(db, set, places);
  }
  return listByCounting(db, all, page);
}

interface Newer {
  rewrite: number;
  /** In the set, but after the known places. */
  newer: number;
  /** Waiting for the caller, outside the set. */
  waiting: number;
}

type Condition = (p: Parameters) => string | null;

async function countNewer(db: Queryable, set: Branches, beyond: Condition, { last }: Places): Promise<Newer> {
  const p = parameters();
  const isNewer = compared('>', last, p);
  const newer = unionOf(set(p).map((branch) => selectKeys(`${branch} and ${isNewer}`)));
  const besides = beyond(p);
  const [row] = await db.query<Newer>(
    `select (select number from request_rewrites) as rewrite, (select count(*) from (${newer}) as keys) as newer,
       ${besides === null ? '0' : `(select count(*) from requests r where ${besides})`} as waiting`,
    p.values,
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
}

interface Mark extends Place {
  /** How many requests of the set are newer. */
  newer: number;
}

/** The oldest mark with at most `offset` listed requests newer than it; null if the page begins before all marks. */
function markBefore({ count, marks }: Places, { offset, newer, waiting: others }: Newer & { offset: number }): Mark | null {
  const fromOldest = count + newer + others - offset;
  const index = Math.max(Math.ceil(fromOldest / step), 1) - 1;
  const mark = marks[index];
  return mark === undefined ? null : { ...mark, newer: newer + count - (index + 1) * step };
}

/** Where a page is read from; without a mark, from the newest. `beyond` are requests that the marks do not count. */
interface Start {
  mark: Mark | null;
  beyond: Condition;
}

/** Each branch returns no more keys than the page can reach. The table is read only for the page's rows. */
async function readPage(
  db: Queryable,
  branches: Branches,
  { limit, offset, total }: Page & { total: number },
  { mark, beyond }: Start = { mark: null, beyond: () => null },
): Promise<ListedRequest[]> {
  if (limit === 0 || offset >= total) return [];
  const p = parameters();
  const from = mark === null ? '' : ` and ${compared('<=', mark, p)}`;
  const skipped = offset - (mark?.newer ?? 0);
  const reach = p.add(skipped + limit);
  const keys = unionOf(branches(p).map((branch) => `${selectKeys(branch + from)} ${newestFirst} limit ${reach}`));
  const besides = mark === null ? null : beyond(p);
  const newerBesides =
    besides === null ? '' : ` - (select count(*) from requests r where ${besides} and ${compared('>', mark, p)})`;
  return db.query<ListedRequest>(
    `select ${columns} from (select id from (${keys}) as keys ${newestFirst} limit ${p.add(limit)} offset ${p.add(skipped)}::bigint${newerBesides}) as page
       join requests r using (id) order by r.created_at desc, r.id desc`,
    p.values,
  );
}
