import type { Caller, EffectiveRole, Origins } from './caller.js';
import type { Grant } from './four-eyes.js';
import { applyCeiling, findRole, resolveRoles } from './permissions.js';

type AuthConfig = Parameters<typeof resolveRoles>[0]['config'];

/** What is stored of a user's API token and of the user. */
export interface StoredUserToken {
  id: string;
  subjectId: string;
  scopeCeiling: readonly string[] | null;
  /** Direct roles. */
  roles: readonly string[];
  roleGrants: Readonly<Record<string, Grant>>;
  memberships: readonly { group: string; origins: Origins | null }[];
  /** Null for accounts older than this record. */
  accountOrigins: Origins | null;
  tokenOrigins: Origins | null;
}

/** The caller that the token resolves to, or why it is refused: no role resolves, or none passes the ceiling (IM-13, IM-20). */
export function storedCaller(
  stored: StoredUserToken,
  config: AuthConfig,
): Extract<Caller, { kind: 'user' }> | 'no_roles' | 'scope_ceiling' {
  const memberOf = stored.memberships.map(({ group }) => group);
  const resolved = resolveRoles({ direct: stored.roles, groups: memberOf, config });
  if (resolved.length === 0) return 'no_roles';
  const roles = applyCeiling('user', resolved, stored.scopeCeiling === null ? null : { roles: stored.scopeCeiling });
  if (roles.length === 0) return 'scope_ceiling';
  return {
    kind: 'user',
    id: stored.subjectId,
    roles,
    groups: groupsWithin(memberOf, { resolved, effective: roles, config }),
    memberOf,
    origins: {
      account: stored.accountOrigins ?? [],
      credential: stored.tokenOrigins ?? [],
      groups: new Map(stored.memberships.map(({ group, origins }) => [group, origins ?? []])),
      roles: new Map(roles.map(({ name }) => [name, waysTo(name, stored, config)])),
    },
    tokenId: stored.id,
  };
}

/**
 * HD-71: the groups whose selectors an API token matches. A group that gives roles counts if the token has one of them; a group that gives none
 * counts if the token has all the user's roles. So a token narrowed to exclude its owner's approvals gives none.
 */
export function groupsWithin(
  memberOf: readonly string[],
  {
    resolved,
    effective,
    config,
  }: { resolved: readonly EffectiveRole[]; effective: readonly EffectiveRole[]; config: AuthConfig },
): string[] {
  const held = new Set(effective.map(({ name }) => name));
  const isWhole = resolved.every(({ name }) => held.has(name));
  return memberOf.filter((name) => {
    const given = rolesOf(name, config).filter((role) => findRole(role, config.roles) !== undefined);
    return given.length === 0 ? isWhole : given.some((role) => held.has(role));
  });
}

/** One entry per way: directly, and through each group that gives the role. A default role has no way, since nobody granted it. */
function waysTo(role: string, { roles, roleGrants, memberships }: StoredUserToken, config: AuthConfig): Origins[] {
  const grant = Object.hasOwn(roleGrants, role) ? roleGrants[role] : undefined;
  const direct = roles.includes(role) ? [grant?.origins ?? []] : [];
  const byGroup = memberships.filter(({ group }) => rolesOf(group, config).includes(role));
  return [...direct, ...byGroup.map(({ origins }) => origins ?? [])];
}

const rolesOf = (group: string, { groups }: AuthConfig): readonly string[] =>
  groups.find(({ name }) => name === group)?.roles ?? [];
