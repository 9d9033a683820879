import type { EffectiveRole } from './caller.js';
import { isUnrestricted, resolveRoles } from './permissions.js';

interface Holder {
  roles: readonly string[];
  /** Stored memberships. */
  groups: readonly string[];
}

type AuthConfig = Parameters<typeof resolveRoles>[0]['config'];

/** IM-64: whether any active user holds `*` on everything, through a direct role or a stored group. The default role and JWTs do not count. */
export function hasAdmin(activeUsers: readonly Holder[], config: AuthConfig): boolean {
  const withoutDefault = { ...config, defaultRole: null };
  return activeUsers.some(({ roles, groups }) =>
    resolveRoles({ direct: roles, groups, config: withoutDefault }).some(isAdminRole),
  );
}

const isAdminRole = (role: EffectiveRole) => isUnrestricted(role) && role.permissions.some(({ perm }) => perm === '*');
