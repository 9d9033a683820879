import type { Caller, EffectiveRole, Origins } from './caller.js';
import type { Grant } from './four-eyes.js';
import { applyCeiling, findRole, resolveRoles } from './permissions.js';

type AuthConfig = Parameters<typeof resolveRoles>[0]['config'];

/** What is stored of an API token of a user, and of the user. */
export interface StoredUserToken {
  id: string;
  subjectId: string;
  scopeCeiling: readonly string[] | null;
  /** Direct ones. */
  roles: readonly string[];
  roleGrants: Readonly<Record<string, Grant>>;
  memberships: readonly { group: string; origins: Origins | null }[];
  /** Null from before it was recorded. */
  accountOrigins: Origins | null;
  tokenOrigins: Origins | null;
}

/** Who calls with the token, or why nobody may: no role resolves, or none passes the ceiling (IM-13, IM-20). */
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
 * HD-71: the groups whose selectors an API token matches. One that gives roles takes one of them in the token, one that gives none all roles of the user:
 * so a token that was narrowed to less than its owner's approvals gives none of them.
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

/** Directly, and by each group that gives the role; a default role has no way, since nobody granted it. */
function waysTo(role: string, { roles, roleGrants, memberships }: StoredUserToken, config: AuthConfig): Origins[] {
  const grant = Object.hasOwn(roleGrants, role) ? roleGrants[role] : undefined;
  const direct = roles.includes(role) ? [grant?.origins ?? []] : [];
  const byGroup = memberships.filter(({ group }) => rolesOf(group, config).includes(role));
  return [...direct, ...byGroup.map(({ origins }) => origins ?? [])];
}

const rolesOf = (group: string, { groups }: AuthConfig): readonly string[] =>
  groups.find(({ name }) => name === group)?.roles ?? [];
