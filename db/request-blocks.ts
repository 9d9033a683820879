import type { Queryable } from './client.js';
import { memoryOfSets } from './known-sets.js';
import { type Parameters, parameters } from './parameters.js';
import { unionOf } from './request-branch.js';
import { compared, type Place, type Places, placesNow, placesOf, type RequestSet, stateNow, step } from './request-places.js';
import { isNewer } from './request-waiting.js';
import { at } from './row-types.js';

export interface Mark extends Place {
  /** How many listed requests are newer. */
  newer: number;
}

/**
 * How many requests of a set have a status, in each block that was asked for: block `i` reaches from the mark before to mark `i`. Changes
 * with an earlier `updated_at` than `since` are all counted.
 */
interface Known {
  rewrite: number;
  since: number | null;
  counts: Map<number, number>;
}

/** How many blocks one statement counts, and how many statements one call. */
const countedAtOnce = 64;
const maxCounts = 16;
/** More changes than this are not worth following. */
const maxChanges = 2000;

const memoryOf = memoryOfSets<Known>();

/**
 * The oldest mark of the set with at most `offset` requests of this status newer than it; null if there is none. Requests stay in the set, but not in
 * their status: blocks with a request that has moved since are counted again.
 */
export async function markOfStatus(db: Queryable, set: RequestSet, status: string, offset: number): Promise<Mark | null> {
  let places = await placesOf(db, set);
  for (let attempt = 1; ; attempt += 1) {
    const known = await refreshed(db, set, status, places);
    if (known === null) return null;
    const counted = (blocks: number[]) => countBlocks(db, set, { status, marks: places.marks, blocks });
    const head = (await counted([places.marks.length])).get(places.marks.length) ?? 0;
    if (head <= 2 * step || attempt > 1) return findMark(places, known, { head, offset, counted });
    places = await placesNow(db, set, places);
  }
}

interface Search {
  /** Newer than all marks. */
  head: number;
  offset: number;
  counted: (blocks: number[]) => Promise<Map<number, number>>;
}

async function findMark({ marks }: Places, { counts }: Known, { head, offset, counted }: Search): Promise<Mark | null> {
  let found: Mark | null = null;
  let newer = head;
  let asked = 0;
  for (let block = marks.length - 1; block >= 0 && newer <= offset; block -= 1) {
    const mark = marks[block];
    if (mark === undefined) break;
    found = { ...mark, newer };
    if (!counts.has(block)) {
      if (asked === maxCounts) break;
      asked += 1;
      const missing = Array.from({ length: Math.min(countedAtOnce, block + 1) }, (_, index) => block - index);
      for (const [index, count] of await counted(missing.filter((index) => !counts.has(index)))) counts.set(index, count);
    }
    newer += counts.get(block) ?? 0;
  }
  return found;
}

/** What is known of the counts, without those of blocks in which a request has moved; null if the set was rewritten meanwhile. */
async function refreshed(db: Queryable, set: RequestSet, status: string, places: Places): Promise<Known | null> {
  const known = knownOf(db, set, status, places.rewrite);
  const p = parameters();
  const moved =
    known.since === null
      ? 'false'
      : `r.updated_at >= ${p.add(at(known.since))} and ${compared('<=', places.marks.at(-1) ?? null, p)}`;
  const changes = await db.query<{ rewrite: number; since: number; id: string | null; createdAt: number }>(
    `select state.rewrite, state.since, changed.* from (${stateNow}) as state
     left join (select r.id, r.created_at as "createdAt" from requests r where ${moved} limit ${p.add(maxChanges + 1)}) as changed on true`,
    p.values,
  );
  const [now] = changes;
  if (now === undefined || now.rewrite !== places.rewrite) return null;
  if (changes.length > maxChanges) known.counts.clear();
  else for (const { id, createdAt } of changes) if (id !== null) known.counts.delete(blockOf(places.marks, { id, createdAt }));
  known.since = now.since;
  return known;
}

function knownOf(db: Queryable, set: RequestSet, status: string, rewrite: number): Known {
  const memory = memoryOf(db, set, status);
  const kept = memory.get();
  if (kept?.rewrite === rewrite) return kept;
  const known = { rewrite, since: null, counts: new Map<number, number>() };
  memory.learn(known);
  return known;
}

/** The first block whose mark is not older than the place. */
function blockOf(marks: readonly Place[], place: Place): number {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const mark = marks[middle];
    if (mark !== undefined && isNewer(place, mark)) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Blocks {
  status: string;
  marks: readonly Place[];
  /** The one after the last mark is what is newer than all marks. */
  blocks: readonly number[];
}

/** Counts each block from an index. */
async function countBlocks(db: Queryable, set: RequestSet, { status, marks, blocks }: Blocks): Promise<Map<number, number>> {
  const p: Parameters = parameters();
  const column = (type: string, values: readonly unknown[]) => `${p.add(values)}::${type}[]`;
  const bounds = (places: (Place | undefined)[], none: [string, string]) => [
    column(
      'timestamptz',
      places.map((place) => (place === undefined ? none[0] : new Date(place.createdAt).toISOString())),
    ),
    column(
      'uuid',
      places.map((place) => place?.id ?? none[1]),
    ),
  ];
  const from = bounds(
    blocks.map((block) => marks[block - 1]),
    ['-infinity', '00000000-0000-0000-0000-000000000000'],
  );
  const to = bounds(
    blocks.map((block) => marks[block]),
    ['infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  );
  const within = `r.status = ${p.add(status)} and (r.created_at, r.id) > (b.c0, b.i0) and (r.created_at, r.id) <= (b.c1, b.i1)`;
  const keys = unionOf(set(p).map((branch) => `select 1 from requests r where ${branch.where} and ${within}`));
  const rows = await db.query<{ block: number; count: number }>(
    `select b.block, counted.count from unnest(${[column('int', blocks), ...from, ...to].join(', ')}) as b (block, c0, i0, c1, i1)
       cross join lateral (select count(*) as count from (${keys}) as keys) as counted`,
    p.values,
  );
  return new Map(rows.map(({ block, count }) => [block, count]));
}
