import { listItemTimes } from '../../db/generations.js';
import { iso } from '../../db/row-types.js';
import type { Caller, Pair } from '../../domain/caller.js';
import { can } from '../../domain/permissions.js';
import type { SharedConfig } from '../../domain/policies.js';
import type { Generation, Services } from '../context.js';

export interface Times {
  created_at: string;
  updated_at: string;
}

/** Policies that may apply to a pair that one of the caller's `workflow.read` roles covers, in the order of the file (IM-40). */
export function visiblePolicies<T extends Pair>(caller: Caller, policies: readonly T[]): T[] {
  return policies.filter((policy) => can(caller, 'workflow.read', policy));
}

/** Adds to each item when its id first appeared in the file and when it last changed (CF-71). */
export async function withTimes<T extends { id: string }>(
  { database }: Pick<Services, 'database'>,
  generation: Generation,
  list: keyof SharedConfig,
  items: readonly T[],
): Promise<(T & Times)[]> {
  const times = items.length === 0 ? new Map<string, Times>() : await timesOf(database, generation, list);
  const atLatest = iso(generation.createdAt);
  return items.map((item) => ({ ...item, ...(times.get(item.id) ?? { created_at: atLatest, updated_at: atLatest }) }));
}

type Known = Map<keyof SharedConfig, Promise<Map<string, Times>>>;

/** A generation never changes, so its history is read once and dropped with the generation. */
const knownTimes = new WeakMap<Generation, Known>();

function timesOf(database: Services['database'], generation: Generation, list: keyof SharedConfig): Promise<Map<string, Times>> {
  const known: Known = knownTimes.get(generation) ?? new Map();
  knownTimes.set(generation, known);
  const reading = known.get(list) ?? readTimes(database, generation, list);
  known.set(list, reading);
  // A failed read is forgotten, so the next call tries again.
  reading.catch(() => known.delete(list));
  return reading;
}

async function readTimes(database: Services['database'], { number }: Generation, list: keyof SharedConfig) {
  const rows = await listItemTimes(database, list, number);
  return new Map(rows.map((row) => [row.id, { created_at: iso(row.created_at), updated_at: iso(row.updated_at) }]));
}
