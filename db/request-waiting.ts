import type { Queryable } from './client.js';
import { isMany } from './known-many.js';
import { memoryOfSets } from './known-sets.js';
import { parameters } from './parameters.js';
import { anyOf, type Branches, newestFirst, selectKeys, unionOf } from './request-branch.js';
import { countUpToMost } from './request-count.js';
import { type Place, readStateNow, type StateNow, stateNow } from './request-places.js';
import { at } from './row-types.js';
import { mostCounted } from './totals.js';

/** What a caller sees because of its moves, newest first. */
export interface Waiting {
  keys: readonly Place[];
  /** They change only when `updated_at` does. */
  conditions: Branches;
}

export const noneWait: Waiting = { keys: [], conditions: () => [] };

/** What met a condition, newest first. Changes with an earlier `updated_at` than `since` are all in it. */
interface Known extends StateNow {
  keys: readonly Place[];
}

/** More changes than this are not worth following: all is read again. */
const maxChanges = 2000;
/** About 30 MB. */
const maxKeys = 20 * mostCounted;

const memoryOf = memoryOfSets<Known>({ maxSize: maxKeys, sizeCalculation: ({ keys }) => keys.length + 1 });

/**
 * The requests that meet a condition, newest first; null if there are more than `mostCounted`. Only what has changed since the last call of
 * this process is read: each move of a request sets its `updated_at`.
 */
export async function waitingNow(db: Queryable, conditions: Branches): Promise<Waiting | null> {
  const memory = memoryOf(db, conditions);
  const before = memory.get();
  if (before === undefined && (await isMany(db, conditions))) return null;
  const after = before === undefined ? null : await followed(db, conditions, before);
  const known = after ?? (await readAll(db, conditions));
  if (known.keys.length > mostCounted) {
    memory.forget();
    // Notes that there are many, so that the next calls read none of them.
    await countUpToMost(db, conditions);
    return null;
  }
  if (after === null) memory.learn(known);
  else memory.extend(known);
  return { keys: known.keys, conditions };
}

async function readAll(db: Queryable, conditions: Branches): Promise<Known> {
  const now = await readStateNow(db);
  const p = parameters();
  const most = `${newestFirst} limit ${p.add(mostCounted + 1)}`;
  const each = conditions(p).map((one) => `${selectKeys(one)} ${most}`);
  const rows = await db.query<{ created_at: number; id: string }>(
    `select created_at, id from (${unionOf(each)}) as keys ${most}`,
    p.values,
  );
  const keys = rows.map(({ created_at: createdAt, id }) => ({ createdAt, id }));
  return { ...now, keys };
}

interface Change extends StateNow {
  id: string | null;
  createdAt: number;
  waits: boolean;
}

/** What is known with the changes since; null if all must be read again. */
async function followed(db: Queryable, conditions: Branches, before: Known): Promise<Known | null> {
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
