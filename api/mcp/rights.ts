import { sha256Hex } from '../../crypto/hash.js';
import type { Caller } from '../../domain/caller.js';

/** A digest of all that decides what a caller may see: equal for two credentials of one subject exactly if they have the same rights. */
export function rightsOf(caller: Caller): string {
  if (caller.kind === 'agent') return sha256Hex(JSON.stringify(caller.agentScopes?.toSorted() ?? null));
  const roles = caller.roles.map(({ name, permissions, databases, environments }) =>
    JSON.stringify([
      name,
      permissions.map(({ perm, ownership }) => `${perm} ${ownership}`).toSorted(),
      databases.toSorted(),
      environments.toSorted(),
    ]),
  );
  return sha256Hex(JSON.stringify([roles.toSorted(), caller.groups.toSorted(), caller.memberOf.toSorted()]));
}
