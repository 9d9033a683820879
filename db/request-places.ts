import type { Queryable } from './client.js';
import { type Parameters, parameters } from './parameters.js';
import { at } from './row-types.js';

/**
 * A set of requests by conditions on what never changes in a request, made anew for each statement. It is the union of its branches, each of which
 * has an index in the order of lists.
 */
export type RequestSet = (p: Parameters) => string[];

export interface Place {
  createdAt: number;
  id: string;
}

/** Where a set's requests up to `last` lie, in the order of their creation: each `step`-th of them. None will ever come before `last` any more. */
export interface Places {
  rewrite: number;
  last: Place | null;
  count: number;
  marks: Place[];
  learntAt: number;
}

/** How many requests lie between two marks: what a deep page skips at most. */
export const step = 2000;
/** A clock of PostgreSQL that was set back makes marks miss requests; no longer than this. */
const keptMs = 600_000;
const maxSets = 100;
/** Learnt by one statement, so that a call's time is enough however many requests are stored: the next call goes on. */
const learntAtOnce = 200_000;

const setsByDatabase = new WeakMap<Queryable, Map<string, Promise<Places>>>();

/** What is known of a set, learnt now where nothing is; a set that nobody asks for any more is forgotten. */
export async function placesOf(db: Queryable, set: RequestSet): Promise<Places> {
  const [sets, key] = lookUp(db, set);
  const known = sets.get(key);
  if (known !== undefined) {
    const places = await known;
    if (performance.now() - places.learntAt < keptMs) {
      return sets.get(key) === known ? remember(sets, key, known, known) : places;
    }
  }
  return remember(sets, key, learn(db, set, null), undefined);
}

/** The same with more of what is not yet known; after a rewrite it begins anew. */
export async function placesNow(db: Queryable, set: RequestSet, known: Places): Promise<Places> {
  const [sets, key] = lookUp(db, set);
  const newest = sets.get(key);
  const places = await newest;
  if (places !== undefined && places !== known) return places;
  return remember(sets, key, learn(db, set, known), newest);
}

function lookUp(db: Queryable, set: RequestSet): [Map<string, Promise<Places>>, string] {
  const sets = setsByDatabase.get(db) ?? new Map<string, Promise<Places>>();
  setsByDatabase.set(db, sets);
  const p = parameters();
  return [sets, JSON.stringify([set(p), p.values])];
}

/** The least recently asked set comes first; a failure leaves what was known. */
function remember(
  sets: Map<string, Promise<Places>>,
  key: string,
  learning: Promise<Places>,
  before: Promise<Places> | undefined,
): Promise<Places> {
  sets.delete(key);
  sets.set(key, learning);
  learning.catch(() => {
    if (sets.get(key) !== learning) return;
    if (before === undefined) sets.delete(key);
    else sets.set(key, before);
  });
  const [oldest] = sets.keys();
  if (sets.size > maxSets && oldest !== undefined) sets.delete(oldest);
  return learning;
}

async function learn(db: Queryable, set: RequestSet, known: Places | null): Promise<Places> {
  const { rewrite, until } = await findHorizon(db);
  const none = { rewrite, last: null, count: 0, marks: [], learntAt: performance.now() };
  const from = known?.rewrite === rewrite ? known : none;
  const found = await readMarks(db, set, from, until);
  const marks = found.filter(({ place }) => place % step === 0).map(({ createdAt, id }) => ({ createdAt, id }));
  const last = found.at(-1);
  return { ...from, last: last ?? from.last, count: last?.place ?? from.count, marks: [...from.marks, ...marks] };
}

/**
 * Before this instant no request is created any more: `created_at` lies within its transaction, and each transaction that could still commit one began
 * later. The second is for instants cut to milliseconds.
 */
async function findHorizon(db: Queryable): Promise<{ rewrite: number; until: number }> {
  const [row] = await db.query<{ rewrite: number; until: number }>(
    `select (select number from request_rewrites) as rewrite,
       floor(extract(epoch from least(clock_timestamp(), min(xact_start)) - interval '1 second') * 1000)::bigint as until
     from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
}

/** The marks that follow what is known, and the last request of them with its place. */
function readMarks(db: Queryable, set: RequestSet, from: Places, until: number): Promise<(Place & { place: number })[]> {
  const p = parameters();
  const wanted = `${compared('>', from.last, p)} and r.created_at < ${p.add(at(until))}`;
  const oldest = `order by created_at, id limit ${learntAtOnce}`;
  const rows = unionOf(set(p).map((branch) => `${selectKeys(`${branch} and ${wanted}`)} ${oldest}`));
  return db.query(
    `select created_at as "createdAt", id, place from (
       select created_at, id, ${p.add(from.count)}::bigint + row_number() over oldest as place, lead(id) over oldest as next
       from (select * from (${rows}) as keys ${oldest}) as rows window oldest as (order by created_at, id)
     ) as numbered where place % ${step} = 0 or next is null order by place`,
    p.values,
  );
}

/** Whether `requests r` comes after a place in the order of creation, or up to it; null lies before all. */
export function compared(side: '>' | '<=', place: Place | null, p: Parameters): string {
  if (place === null) return side === '>' ? 'true' : 'false';
  return `(r.created_at, r.id) ${side} (${p.add(at(place.createdAt))}::timestamptz, ${p.add(place.id)}::uuid)`;
}

/** The keys of one branch. */
export const selectKeys = (condition: string) => `select r.created_at, r.id from requests r where ${condition}`;

/** Branches may overlap: a request is counted once. */
export const unionOf = (selects: readonly string[]) =>
  selects.length === 1 ? selects.join() : selects.map((one) => `(${one})`).join(' union ');
