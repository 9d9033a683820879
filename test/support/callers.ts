import type { Actor } from '../../domain/audit/draft.js';
import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import type { Caller, EffectiveRole, Ownership, UserCaller } from '../../domain/caller.js';
import { noOrigins } from '../../domain/four-eyes.js';
import type { Permission } from '../../domain/permission-table.js';

type Granted = Permission | `${Permission}:${Ownership}` | '*';

/** A custom role. A permission without suffix is `own`; databases and environments have no limit unless one is given. */
export function role(
  name: string,
  granted: readonly Granted[],
  scope: Partial<Pick<EffectiveRole, 'databases' | 'environments'>> = {},
): EffectiveRole {
  const permissions = granted.map((text) => {
    const [perm, ownership = text === '*' ? 'any' : 'own'] = text.split(':');
    return { perm: perm as Permission | '*', ownership: ownership as Ownership };
  });
  return { name, permissions, databases: ['*'], environments: ['*'], ...scope };
}

export const builtinRole = (name: string): EffectiveRole => BUILTIN_ROLES.find((known) => known.name === name)!;

/** A user with the built-in role `requester` unless other roles are given. */
export const user = (id: string, over: Partial<Pick<UserCaller, 'roles' | 'groups' | 'origins'>> = {}): UserCaller => ({
  kind: 'user',
  id,
  roles: [builtinRole('requester')],
  groups: [],
  memberOf: over.groups ?? [],
  origins: noOrigins,
  tokenId: null,
  ...over,
});

export const agent = (id: string): Caller => ({ kind: 'agent', id, tokenId: `token-of-${id}`, agentScopes: null });

export const actorOf = (caller: Caller): Actor => ({
  id: caller.id,
  type: caller.kind,
  tokenId: caller.tokenId,
  peerIp: '10.0.0.9',
  clientIp: '10.0.0.9',
  clientIpSource: 'peer',
});
