import type { Queryable } from '../../db/client.js';
import { findLearntDialect } from '../../db/snapshots.js';
import type { Pair } from '../../domain/caller.js';
import type { StoredRequest } from '../../domain/request/types.js';
import type { Dialect } from '../../domain/statement.js';
import { DEFAULT_EXECUTION_POLICY, matchPolicy } from '../../domain/workflow-policy.js';
import type { Generation } from '../context.js';

/** The pair's entry in the call's generation; undefined if the pair takes no requests. */
export function registered(generation: Generation, pair: Pair) {
  return generation.shared.databases.find(
    ({ name, environments }) => name === pair.database && environments.includes(pair.environment),
  );
}

/** The pair's execution policy (WF-2). */
export const executionPolicy = (generation: Generation, pair: Pair) =>
  matchPolicy(generation.shared.executionPolicies, pair) ?? DEFAULT_EXECUTION_POLICY;

/** A pair's dialect (SQ-1, AG-74): from `server.toml`, else from the newest ready schema sync, else null. */
export async function pairDialect(db: Queryable, generation: Generation, pair: Pair): Promise<Dialect | null> {
  return registered(generation, pair)?.dialect ?? (await findLearntDialect(db, pair));
}

/**
 * RQ-86, AG-32: whether the pair is still registered, with the dialect that the SQL was classified in. `learnt` is the dialect of the newest
 * ready sync. SQL of unknown dialect was classified as PostgreSQL (SQ-2), so learning that the pair is PostgreSQL changes nothing.
 */
export function pairUnchanged(request: StoredRequest, generation: Generation, learnt: Dialect | null): boolean {
  const entry = registered(generation, request);
  if (entry === undefined) return false;
  const dialect = entry.dialect ?? learnt;
  return dialect === request.dialect || (dialect === 'postgresql' && request.dialect === null);
}
