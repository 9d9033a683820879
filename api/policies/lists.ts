import { BUILTIN_REVIEW } from '../../config/shared.js';
import { sha256Hex } from '../../crypto/hash.js';
import { listItemTimes } from '../../db/generations.js';
import { iso } from '../../db/row-types.js';
import type { Caller, Pair } from '../../domain/caller.js';
import { canonicalJson } from '../../domain/canonical-json.js';
import { can } from '../../domain/permissions.js';
import type { PolicyVersion, SharedConfig } from '../../domain/policies.js';
import type { Generation, Services } from '../context.js';

export interface Times {
  created_at: string;
  updated_at: string;
}

/** Policies that may apply to a pair that one of the caller's `workflow.read` roles covers, in the order of the file (IM-40). */
export function visiblePolicies<T extends Pair>(caller: Caller, policies: readonly T[]): T[] {
  return policies.filter((policy) => can(caller, 'workflow.read', policy));
}

/** Adds to each item its version, when its id first appeared in the file, and when it last changed (CF-71). */
export async function withHistory<T extends { id: string }, Item extends { id: string }>(
  { database }: Pick<Services, 'database'>,
  generation: Generation,
  { list, policies, show }: { list: keyof SharedConfig; policies: readonly T[]; show: (policy: T) => Item },
): Promise<(Item & PolicyVersion & Times)[]> {
  const history = policies.length === 0 ? new Map<string, History>() : await historyOf(database, generation, list);
  const atLatest = iso(generation.createdAt);
  return policies.map((policy) => {
    const { revision, ...times } = history.get(policy.id) ?? { revision: null, created_at: atLatest, updated_at: atLatest };
    return { ...show(policy), revision, digest: policyDigest(policy), ...times };
  });
}

/** The version of one entry; null for an id that the list does not have. `digest` alone is known at once. */
export async function versionOf(
  { database }: Pick<Services, 'database'>,
  generation: Generation,
  list: 'workflows' | 'sqlReview',
  id: string | null,
): Promise<PolicyVersion | null> {
  const policies: readonly { id: string }[] = [...generation.shared[list], ...(list === 'sqlReview' ? [BUILTIN_REVIEW] : [])];
  const policy = policies.find((one) => one.id === id);
  if (policy === undefined) return null;
  const history = await historyOf(database, generation, list);
  return { revision: history.get(policy.id)?.revision ?? null, digest: policyDigest(policy) };
}

interface History extends Times {
  revision: string;
}

type Known = Map<keyof SharedConfig, Promise<Map<string, History>>>;

/** A generation never changes, so its history is read once and dropped with the generation. */
const known = new WeakMap<Generation, Known>();

function historyOf(
  database: Services['database'],
  generation: Generation,
  list: keyof SharedConfig,
): Promise<Map<string, History>> {
  const ofGeneration: Known = known.get(generation) ?? new Map();
  known.set(generation, ofGeneration);
  const reading = ofGeneration.get(list) ?? readHistory(database, generation, list);
  ofGeneration.set(list, reading);
  // A failed read is forgotten, so the next call tries again.
  reading.catch(() => ofGeneration.delete(list));
  return reading;
}

async function readHistory(database: Services['database'], { number }: Generation, list: keyof SharedConfig) {
  const rows = await listItemTimes(database, list, number);
  return new Map(
    rows.map(({ id, created_at, updated_at, changed_by }) => [
      id,
      { revision: `r${changed_by}`, created_at: iso(created_at), updated_at: iso(updated_at) },
    ]),
  );
}

const digests = new WeakMap<object, string>();

/** 12 hexadecimal digits of a policy's content, by which two versions under one id are told apart (PO-11). */
function policyDigest(policy: object): string {
  const digest = digests.get(policy) ?? sha256Hex(canonicalJson(JSON.stringify(policy))).slice(0, 12);
  digests.set(policy, digest);
  return digest;
}
