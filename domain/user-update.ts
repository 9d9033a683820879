/** The fields of a user that `PATCH /api/users/{id}` may change. */
export interface UserParts {
  /** Direct roles. */
  roles: readonly string[];
  /** Stored memberships, sorted. */
  groups: readonly string[];
  slackUserId: string | null;
}

/** The body of that call (IM-63). An absent list is empty, except `roles`, which replaces all roles. */
export interface UserPatch {
  roles?: readonly string[] | undefined;
  addRoles: readonly string[];
  rmRoles: readonly string[];
  addGroups: readonly string[];
  rmGroups: readonly string[];
  /** undefined keeps the value, null clears it. */
  slackUserId?: string | null | undefined;
}

/** Old and new value of each changed field, in the order in which events show them. */
export interface UserChanges {
  roles?: [readonly string[], readonly string[]];
  groups?: [readonly string[], readonly string[]];
  slack_user_id?: [string | null, string | null];
}

/** The user after the patch: kept names keep their order, new names come after them, groups are sorted. */
export function updatedUser(user: UserParts, patch: UserPatch): { after: UserParts; changes: UserChanges } {
  const roles = changedNames(user.roles, patch.roles ?? [...user.roles, ...patch.addRoles], patch.rmRoles);
  const groups = changedNames(user.groups, [...user.groups, ...patch.addGroups], patch.rmGroups).toSorted();
  const slackUserId = patch.slackUserId === undefined ? user.slackUserId : patch.slackUserId;
  const changes: UserChanges = {
    ...(sameNames(user.roles, roles) ? {} : { roles: [user.roles, roles] }),
    ...(sameNames(user.groups, groups) ? {} : { groups: [user.groups, groups] }),
    ...(user.slackUserId === slackUserId ? {} : { slack_user_id: [user.slackUserId, slackUserId] }),
  };
  return { after: { roles: changes.roles?.[1] ?? user.roles, groups: changes.groups?.[1] ?? user.groups, slackUserId }, changes };
}

function changedNames(held: readonly string[], wanted: readonly string[], removed: readonly string[]): string[] {
  const keep = new Set(wanted);
  for (const name of removed) keep.delete(name);
  const old = new Set(held);
  return [...held.filter((name) => keep.has(name)), ...[...keep].filter((name) => !old.has(name))];
}

/** Ignores order. */
function sameNames(a: readonly string[], b: readonly string[]): boolean {
  const names = new Set(a);
  return names.size === new Set(b).size && b.every((name) => names.has(name));
}
