import { BUILTIN_ROLES } from './builtin-roles.js';
import type { Caller, EffectiveRole, Ownership, Pair } from './caller.js';
import { PERMISSIONS, type Permission, type PermissionClass } from './permission-table.js';
import { coversPair } from './selectors.js';

/**
 * Where a permission must hold: a pair (a `*` in it is a policy row, IM-40), `somewhere` = in any role, `everywhere` = in a role without limits. The
 * permission's class wins: `self` ignores the scope, `global` always needs `everywhere`.
 */
export type Scope = Pair | 'somewhere' | 'everywhere';

/**
 * IM-40, IM-41, IM-43: may the caller do this kind of thing there? `any` asks for the right over other users' objects; both ownerships satisfy `own`.
 * The calling code checks whose object it is (RQ-2 to RQ-7).
 */
export function can(caller: Caller, permission: Permission, scope: Scope, ownership: Ownership = 'own'): boolean {
  if (caller.kind === 'agent') return permission === 'agent.operate';
  return caller.roles.some((held) => grants(held, permission, ownership) && coversScope(held, permission, scope));
}

/** Whether any role that covers the database, in any environment, holds the permission (SC-4). */
export function canInDatabase(caller: Caller, permission: Permission, database: string): boolean {
  if (caller.kind === 'agent') return false;
  return caller.roles.some((held) => grants(held, permission, 'own') && reaches(held.databases, database));
}

/** IM-53: whether the caller's roles hold every permission, ownership and scope of the roles to be granted. */
export function coversRoles(caller: Caller, granted: readonly EffectiveRole[]): boolean {
  if (caller.kind === 'agent') return granted.length === 0;
  return granted.every(({ permissions, databases, environments }) =>
    permissions.every(({ perm, ownership }) =>
      databases.every((database) =>
        environments.every((environment) =>
          caller.roles.some(
            (held) =>
              grants(held, perm, ownership) && reaches(held.databases, database) && reaches(held.environments, environment),
          ),
        ),
      ),
    ),
  );
}

/** Parses `perm`, `perm:own` or `perm:any` of a custom role (IM-50). Returns a text that says what is wrong if it cannot. */
export function parsePermission(text: string): { perm: Permission | '*'; ownership: Ownership } | string {
  if (text === '*') return { perm: '*', ownership: 'any' };
  const [name = '', suffix, ...rest] = text.split(':');
  if (name === '*') return '* takes no suffix';
  if (!isPermission(name)) return 'unknown permission';
  if (name === 'agent.operate') return 'agent.operate is for agents only';
  if (suffix === undefined) return { perm: name, ownership: 'own' };
  if (rest.length > 0 || (suffix !== 'own' && suffix !== 'any')) return 'the suffix must be own or any';
  return PERMISSIONS[name].ownable ? { perm: name, ownership: suffix } : `${name} takes no suffix`;
}

export const isPermission = (text: string): text is Permission => Object.hasOwn(PERMISSIONS, text);

/** What an identity provider adds to a user for one call (IM-51). `defaultRole` is `[auth.oidc].default_role`; null = off. */
export interface JwtParts {
  groups: string[];
  mappedRoles: string[];
  defaultRole: string | null;
}

interface RoleSources {
  direct: readonly string[];
  /** Stored memberships. */
  groups: readonly string[];
  config: {
    defaultRole: string | null;
    roles: readonly EffectiveRole[];
    groups: readonly { name: string; roles: readonly string[] }[];
  };
  jwt?: JwtParts;
}

/**
 * IM-51: the roles of a user before any ceiling, in the order direct, groups, mapped, without repeats. Unknown names are dropped. The default applies
 * only when nothing else resolves. Empty = `auth.no_roles_resolved`.
 */
export function resolveRoles({ direct, groups, config, jwt }: RoleSources): EffectiveRole[] {
  const memberships = new Set([...groups, ...(jwt?.groups ?? [])]);
  const byGroup = config.groups.filter((group) => memberships.has(group.name)).flatMap((group) => group.roles);
  const tiers = [[...direct, ...byGroup, ...(jwt?.mappedRoles ?? [])], [jwt?.defaultRole], [config.defaultRole]];
  for (const tier of tiers) {
    const found = [...new Set(tier)].flatMap((name) => findRole(name ?? '', config.roles) ?? []);
    if (found.length > 0) return found;
  }
  return [];
}

export const isUnrestricted = ({ databases, environments }: EffectiveRole): boolean =>
  databases.includes('*') && environments.includes('*');

export function findRole(name: string, custom: readonly EffectiveRole[]): EffectiveRole | undefined {
  return BUILTIN_ROLES.find((known) => known.name === name) ?? custom.find((known) => known.name === name);
}

/** IM-20: effective roles of a token; empty means 403 `auth.insufficient_scope`. An agent has exactly `agent-default`. */
export function applyCeiling(
  subject: 'user' | 'agent',
  resolved: readonly EffectiveRole[],
  ceiling: { roles: readonly string[] } | null,
): EffectiveRole[] {
  if (subject === 'agent') return BUILTIN_ROLES.filter((known) => known.name === 'agent-default');
  return resolved.filter((known) => ceiling?.roles.includes(known.name));
}

function grants(held: EffectiveRole, wanted: Permission | '*', ownership: Ownership): boolean {
  if (wanted === 'agent.operate') return false;
  return held.permissions.some((entry) => {
    if (entry.perm === '*') return true;
    const names = entry.perm === wanted || (entry.perm === 'user.write' && wanted === 'user.read');
    return names && (ownership === 'own' || entry.ownership === 'any');
  });
}

function coversScope(held: EffectiveRole, permission: Permission, scope: Scope): boolean {
  const kind: PermissionClass = PERMISSIONS[permission].class;
  if (kind === 'self') return true;
  if (kind === 'global' || scope === 'everywhere') return isUnrestricted(held);
  return scope === 'somewhere' || coversPair(held, scope);
}

const reaches = (list: readonly string[], name: string) => list.includes('*') || list.includes(name);
