import type { Queryable } from './client.js';
import { isMany } from './known-many.js';
import { type Parameters, parameters } from './parameters.js';
import { countUpToMost } from './request-count.js';
import { anyOf, newestFirst, type Place, selectKeys, stateNow, unionOf } from './request-places.js';
import { at } from './row-types.js';
import { mostCounted } from './totals.js';

/** Disjoint conditions of `requests r` that change only when `updated_at` does; built anew for each statement. */
type Conditions = (p: Parameters) => string[];

/** What a caller sees because of its moves, newest first. */
export interface Waiting {
  keys: readonly Place[];
  conditions: Conditions;
}

export const noneWait: Waiting = { keys: [], conditions: () => [] };

/** What met a condition, newest first. Changes with an earlier `updated_at` than `since` are all in it. */
interface Known {
  rewrite: number;
  since: number;
  keys: readonly Place[];
  readAt: number;
}

/** More changes than this are not worth following: all is read again. */
const maxChanges = 2000;
/** If PostgreSQL's clock was set back, changes are missed, but no longer than this. */
const keptMs = 600_000;
const maxConditions = 100;

const knownByDatabase = new WeakMap<Queryable, Map<string, Known>>();

/**
 * The requests that meet a condition, newest first; null if there are more than `mostCounted`. Only what has changed since the last call of
 * this process is read: each move of a request sets its `updated_at`.
 */
export async function waitingNow(db: Queryable, conditions: Conditions): Promise<Waiting | null> {
  const kept = knownByDatabase.get(db) ?? new Map<string, Known>();
  knownByDatabase.set(db, kept);
  const p = parameters();
  const key = JSON.stringify([conditions(p), p.values]);
  const before = kept.get(key);
  if (before === undefined && (await isMany(db, conditions))) return null;
  const isFresh = before !== undefined && performance.now() - before.readAt < keptMs;
  const known = (isFresh ? await followed(db, conditions, before) : null) ?? (await readAll(db, conditions));
  kept.delete(key);
  if (known.keys.length > mostCounted) {
    // Notes that there are many, so that the next calls read none of them.
    await countUpToMost(db, conditions);
    return null;
  }
  kept.set(key, known);
  const [oldest] = kept.keys();
  if (kept.size > maxConditions && oldest !== undefined) kept.delete(oldest);
  return { keys: known.keys, conditions };
}

async function readAll(db: Queryable, conditions: Conditions): Promise<Known> {
  const [now] = await db.query<{ rewrite: number; since: number }>(stateNow);
  if (now === undefined) throw new Error('select without a row');
  const p = parameters();
  const most = `${newestFirst} limit ${p.add(mostCounted + 1)}`;
  const each = conditions(p).map((one) => `${selectKeys(one)} ${most}`);
  const rows = await db.query<{ created_at: number; id: string }>(
    `select created_at, id from (${unionOf(each)}) as keys ${most}`,
    p.values,
  );
  const keys = rows.map(({ created_at: createdAt, id }) => ({ createdAt, id }));
  return { ...now, keys, readAt: performance.now() };
}

interface Change {
  rewrite: number;
  since: number;
  id: string | null;
  createdAt: number;
  waits: boolean;
}

/** What is known with the changes since; null if all must be read again. */
async function followed(db: Queryable, conditions: Conditions, before: Known): Promise<Known | null> {
  const p = parameters();
  const changes = await db.query<Change>(
    `select state.rewrite, state.since, changed.* from (${stateNow}) as state left join (
       select r.id, r.created_at as "createdAt", ${anyOf(conditions(p))} as waits from requests r
       where r.updated_at >= ${p.add(at(before.since))} limit ${p.add(maxChanges + 1)}) as changed on true`,
    p.values,
  );
  const [now] = changes;
  if (now === undefined || now.rewrite !== before.rewrite || changes.length > maxChanges) return null;
  const { since } = now;
  if (now.id === null) return { ...before, since };
  const changed = new Set(changes.map(({ id }) => id));
  const waits = changes.flatMap(({ id, createdAt, waits }) => (id !== null && waits ? [{ id, createdAt }] : []));
  const keys = [...before.keys.filter(({ id }) => !changed.has(id)), ...waits].sort(byAge);
  return { ...before, since, keys };
}

/** Newest first, as a list shows them. */
const byAge = (a: Place, b: Place) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);

/** Whether a list shows the one before the other. */
export const isNewer = (one: Place, other: Place): boolean => byAge(one, other) < 0;
