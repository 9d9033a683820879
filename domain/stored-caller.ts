import type { EffectiveRole, Origins, UserCaller } from './caller.js';
import type { Grant } from './four-eyes.js';
import { applyCeiling, findRole, type JwtParts, resolveRoles } from './permissions.js';

type AuthConfig = Parameters<typeof resolveRoles>[0]['config'];

export interface StoredUser {
  subjectId: string;
  /** Direct roles. */
  roles: readonly string[];
  roleGrants: Readonly<Record<string, Grant>>;
  memberships: readonly { group: string; origins: Origins | null }[];
  /** Null for accounts older than this record. */
  accountOrigins: Origins | null;
}

/** What is stored of a user's API token and of the user. */
export interface StoredUserToken extends StoredUser {
  id: string;
  scopeCeiling: readonly string[] | null;
  tokenOrigins: Origins | null;
}

/** What is stored of a user whose Slack account acts (SL-13). */
export interface StoredSlackUser extends StoredUser {
  /** The users behind the link to the Slack account: who could link it could act with it. */
  linkOrigins: Origins | null;
}

/**
 * The caller that the token resolves to, or why it is refused: no role resolves, or none passes the ceiling (IM-13, IM-20). `jwt` is what the
 * identity provider said when a session was made from its token (CO-11).
 */
export function storedCaller(
  stored: StoredUserToken,
  config: AuthConfig,
  jwt: JwtParts | null = null,
): UserCaller | 'no_roles' | 'scope_ceiling' {
  const ceiling = stored.scopeCeiling === null ? null : { roles: stored.scopeCeiling };
  return callerOf(jwt === null ? stored : withGroups(stored, jwt), config, {
    effective: (resolved) => applyCeiling('user', resolved, ceiling),
    tokenId: stored.id,
    credential: stored.tokenOrigins,
    ...(jwt && { jwt }),
  });
}

/** The caller that a Slack account acts as: all roles and groups of its user, for it has no ceiling (SL-13). */
export const slackCaller = (stored: StoredSlackUser, config: AuthConfig): UserCaller | 'no_roles' =>
  withoutCeiling(stored, config, { credential: stored.linkOrigins });

/**
 * The caller of a call with a JWT: what is stored of the user, and what the identity provider says for this call. There is no ceiling (IM-20). What the
 * provider gives, nobody here granted.
 */
export const jwtCaller = (stored: StoredUser, config: AuthConfig, jwt: JwtParts): UserCaller | 'no_roles' =>
  withoutCeiling(withGroups(stored, jwt), config, { credential: [], jwt });

function withoutCeiling(
  stored: StoredUser,
  config: AuthConfig,
  how: Pick<Parameters<typeof callerOf>[2], 'credential' | 'jwt'>,
): UserCaller | 'no_roles' {
  const caller = callerOf(stored, config, { ...how, effective: (resolved) => [...resolved], tokenId: null });
  return caller === 'scope_ceiling' ? 'no_roles' : caller;
}

function withGroups<Stored extends StoredUser>(stored: Stored, jwt: JwtParts): Stored {
  const given = jwt.groups.map((group) => ({ group, origins: [] }));
  return { ...stored, memberships: [...stored.memberships.filter(({ group }) => !jwt.groups.includes(group)), ...given] };
}

function callerOf(
  stored: StoredUser,
  config: AuthConfig,
  how: {
    effective: (resolved: readonly EffectiveRole[]) => EffectiveRole[];
    tokenId: string | null;
    credential: Origins | null;
    jwt?: JwtParts;
  },
): UserCaller | 'no_roles' | 'scope_ceiling' {
  const memberOf = stored.memberships.map(({ group }) => group);
  const resolved = resolveRoles({ direct: stored.roles, groups: memberOf, config, ...(how.jwt && { jwt: how.jwt }) });
  if (resolved.length === 0) return 'no_roles';
  const roles = how.effective(resolved);
  if (roles.length === 0) return 'scope_ceiling';
  return {
    kind: 'user',
    id: stored.subjectId,
    roles,
    groups: groupsWithin(memberOf, { resolved, effective: roles, config }),
    memberOf,
    origins: {
      account: stored.accountOrigins ?? [],
      credential: how.credential ?? [],
      groups: new Map(stored.memberships.map(({ group, origins }) => [group, origins ?? []])),
      roles: new Map(
        roles.map(({ name }) => [name, [...waysTo(name, stored, config), ...(how.jwt?.mappedRoles.includes(name) ? [[]] : [])]]),
      ),
    },
    tokenId: how.tokenId,
  };
}

/**
 * HD-71: the groups whose selectors an API token matches. A group that gives roles counts if the token has one of them; a group that gives none
 * counts if the token has all the user's roles. So a token narrowed to exclude its owner's approvals gives none.
 */
function groupsWithin(
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
function waysTo(role: string, { roles, roleGrants, memberships }: StoredUser, config: AuthConfig): Origins[] {
  const grant = Object.hasOwn(roleGrants, role) ? roleGrants[role] : undefined;
  const direct = roles.includes(role) ? [grant?.origins ?? []] : [];
  const byGroup = memberships.filter(({ group }) => rolesOf(group, config).includes(role));
  return [...direct, ...byGroup.map(({ origins }) => origins ?? [])];
}

const rolesOf = (group: string, { groups }: AuthConfig): readonly string[] =>
  groups.find(({ name }) => name === group)?.roles ?? [];
