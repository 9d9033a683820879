import type { Caller, Pair } from '../../domain/caller.js';
import { invalid } from '../../domain/errors.js';
import { can } from '../../domain/permissions.js';
import type { Generation } from '../context.js';

/** RQ-19, PF-4: the hint lists up to five environments of the database that the caller may view. */
export function notRegistered(generation: Generation, caller: Caller, pair: Pair) {
  const environments = generation.shared.databases.find(({ name }) => name === pair.database)?.environments ?? [];
  const visible = environments
    .filter((environment) => can(caller, 'request.view', { database: pair.database, environment }))
    .slice(0, 5);
  const hint = visible.length === 0 ? null : `environments of ${pair.database}: ${visible.join(', ')}`;
  return invalid(`${pair.database}/${pair.environment} is not registered`, hint, 'not_registered');
}
