import type { Queryable } from './client.js';
import { longestBeforeMs } from './creation.js';
import { memoryOfSets } from './known-sets.js';
import { longestCommitMs } from './listener.js';
import { type Parameters, parameters } from './parameters.js';
import { type Branches, narrowed, selectKeys, unionOf } from './request-branch.js';
import { at } from './row-types.js';

/** Branches on what never changes in a request. Each has an index in list order. */
export type RequestSet = Branches;

/** What was set before this instant has been committed, or never will be. */
export const stateNow = `select (select number from request_rewrites) as rewrite, clock_timestamp() - interval '${longestCommitMs} milliseconds' as since`;

export interface StateNow {
  rewrite: number;
  since: number;
}

export async function readStateNow(db: Queryable): Promise<StateNow> {
  const [state] = await db.query<StateNow>(stateNow);
  if (state === undefined) throw new Error('select without a row');
  return state;
}

export interface Place {
  createdAt: number;
  id: string;
}

/** The places of a set's requests up to `last`, in order of creation: every `step`-th one. No later request can precede `last`. */
export interface Places {
  rewrite: number;
  last: Place | null;
  count: number;
  marks: Place[];
}

/** How many requests lie between two marks: the most that a deep page skips. */
export const step = 2000;
/** How many requests one statement learns. This fits in a call's time however many are stored, and the next call continues. */
const learntAtOnce = 200_000;

const memoryOf = memoryOfSets<Promise<Places>>();

/** What is known of a set; learns it if nothing is. */
export function placesOf(db: Queryable, set: RequestSet): Promise<Places> {
  const memory = memoryOf(db, set);
  const known = memory.get();
  if (known !== undefined) return known;
  const learning = learn(db, set, null);
  memory.learn(learning);
  learning.catch(() => {
    if (memory.get() === learning) memory.forget();
  });
  return learning;
}

/** Extends what is known. Starts over after a rewrite. A failure keeps what was known. */
export async function placesNow(db: Queryable, set: RequestSet, known: Places): Promise<Places> {
  const memory = memoryOf(db, set);
  const newest = memory.get();
  if (newest === undefined) return placesOf(db, set);
  const places = await newest;
  if (places !== known) return places;
  const learning = learn(db, set, known);
  memory.extend(learning);
  learning.catch(() => {
    if (memory.get() === learning) memory.extend(newest);
  });
  return learning;
}

async function learn(db: Queryable, set: RequestSet, known: Places | null): Promise<Places> {
  const { rewrite, until } = await findHorizon(db);
  const none = { rewrite, last: null, count: 0, marks: [] };
  const from = known?.rewrite === rewrite ? known : none;
  const found = await readMarks(db, set, from, until);
  const marks = found.filter(({ place }) => place % step === 0).map(({ createdAt, id }) => ({ createdAt, id }));
  const last = found.at(-1);
  return { ...from, last: last ?? from.last, count: last?.place ?? from.count, marks: [...from.marks, ...marks] };
}

/**
 * No transaction can still create a request before this instant: `created_at` lies within its transaction or at most `longestBeforeMs` before it, and
 * every open transaction began later. The rest of the subtracted second covers instants cut to milliseconds.
 */
async function findHorizon(db: Queryable): Promise<{ rewrite: number; until: number }> {
  const [row] = await db.query<{ rewrite: number; until: number }>(
    `select (select number from request_rewrites) as rewrite,
       floor(extract(epoch from least(clock_timestamp(), min(xact_start)) - interval '${longestBeforeMs + 500} milliseconds') * 1000)::bigint as until
     from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
}

/** The marks after what is known, and the last request among them with its place. */
function readMarks(db: Queryable, set: RequestSet, from: Places, until: number): Promise<(Place & { place: number })[]> {
  const p = parameters();
  const wanted = `${compared('>', from.last, p)} and r.created_at < ${p.add(at(until))}`;
  const oldest = `order by created_at, id limit ${learntAtOnce}`;
  const rows = unionOf(set(p).map((branch) => `${selectKeys(narrowed(branch, wanted))} ${oldest}`));
  return db.query(
    `select created_at as "createdAt", id, place from (
       select created_at, id, ${p.add(from.count)}::bigint + row_number() over oldest as place, lead(id) over oldest as next
       from (select * from (${rows}) as keys ${oldest}) as rows window oldest as (order by created_at, id)
     ) as numbered where place % ${step} = 0 or next is null order by place`,
    p.values,
  );
}

/** Whether `requests r` comes after a place in order of creation, or up to it. Null precedes all requests. */
export function compared(side: '>' | '<=', place: Place | null, p: Parameters): string {
  if (place === null) return side === '>' ? 'true' : 'false';
  return `(r.created_at, r.id) ${side} (${p.add(at(place.createdAt))}::timestamptz, ${p.add(place.id)}::uuid)`;
}
