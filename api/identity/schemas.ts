import { z } from 'zod';
import { PERMISSIONS } from '../../domain/permission-table.js';
import { isGroupName, isUserId, MAX_GROUP_NAME_BYTES, roleNamePattern, userIdPattern } from '../../domain/selectors.js';
import { flag, instant, list, named, oneOf, text, userIdText, uuid } from '../http/fields.js';

export const userId = z
  .string()
  .refine(isUserId, 'must have 1 to 128 characters of A-Z a-z 0-9 - _ @ .')
  .meta({ pattern: userIdPattern.source });

const roleName = text('The name of a role.', { pattern: roleNamePattern.source });
const groupName = text('The name of a group.', { maxLength: MAX_GROUP_NAME_BYTES });
const roleNames = z.array(roleName);
const groupNames = z.array(groupName.refine(isGroupName, 'has an entry that is no group name'));

/** null means "not given" here and in a change, as if the field were absent. */
const orNone = (names: z.ZodArray<z.ZodString>, about: string) =>
  names
    .nullable()
    .default([])
    .transform((given) => given ?? [])
    .meta({ description: about });
const orAbsent = (names: z.ZodArray<z.ZodString>, about: string) =>
  names
    .nullish()
    .transform((given) => given ?? undefined)
    .meta({ description: about });

/** The body of `POST /api/users` (IM-62). */
export const newUser = named('NewUser', 'A user to be made.', {
  id: userId.meta({ description: 'The id of the user.' }),
  roles: orNone(roleNames, 'The roles of the user.'),
  groups: orNone(groupNames, 'The groups of the user.'),
});

const overlap = (names: readonly string[] = [], others: readonly string[] = []) => {
  const known = new Set(others);
  return names.findIndex((name) => known.has(name));
};

/** The body of `PATCH /api/users/{id}` (IM-63). */
export const userPatch = z
  .object({
    roles: orAbsent(roleNames, 'The roles that the user is to have.'),
    add_roles: orAbsent(roleNames, 'Roles to be added. Not with `roles`.'),
    rm_roles: orAbsent(roleNames, 'Roles to be taken away. Not with `roles`.'),
    add_groups: orAbsent(groupNames, 'Groups to be added.'),
    rm_groups: orAbsent(groupNames, 'Groups to be taken away.'),
    slack_user_id: z
      .string()
      .max(64)
      .regex(/^(?:[UW][A-Z0-9]+)?$/, 'must be U or W, followed by capital letters and digits')
      .nullish()
      .meta({ description: "The user's id in Slack. null or an empty text ends the link." }),
  })
  .check(({ value, issues }) => {
    const refuse = (path: PropertyKey[], message: string) => issues.push({ code: 'custom', input: value, path, message });
    if (Object.values(value).every((part) => part === undefined)) refuse([], 'must name a change');
    if (value.roles !== undefined && value.add_roles !== undefined) refuse(['add_roles'], 'must not come with roles');
    if (value.roles !== undefined && value.rm_roles !== undefined) refuse(['rm_roles'], 'must not come with roles');
    const role = overlap(value.add_roles, value.rm_roles);
    if (role >= 0) refuse(['add_roles', role], 'has a name that rm_roles has too');
    const group = overlap(value.add_groups, value.rm_groups);
    if (group >= 0) refuse(['add_groups', group], 'has a name that rm_groups has too');
  })
  .meta({ id: 'UserChange', description: 'A change of a user.' });

/** Any text, because an id that names nothing is 404 (HT-61). */
export const userParams = z.object({ id: userIdText('The id of the user.') });
export const groupParams = z.object({ name: groupName });
export const roleParams = z.object({ name: roleName });
export const tokenParams = z.object({ id: uuid('The id of the token.') });

const permission = oneOf(['*', ...Object.keys(PERMISSIONS)], 'A permission; `*` is every one.');
export const permissions = (about: string) => list(text('A permission; `:any` if it holds for the objects of everybody.'), about);
export const rolesOf = (about: string) => list(roleName, about);
const groups = (about: string) => list(groupName, about);

const facts = {
  display_name: text('The name that is shown to others.').nullable(),
  email: text('The email address.').nullable(),
};
const slackUserId = text("The user's id in Slack; null if not linked.").nullable();
const status = z.enum(['active', 'suspended']).meta({ description: 'Whether the user may call.' });
const source = oneOf(['api', 'oidc', 'slack', 'bootstrap'], 'Where the user came from.');

export const user = named('User', 'A user.', {
  id: userIdText('The id of the user.'),
  ...facts,
  groups: groups('The groups that the user belongs to.'),
  roles: rolesOf('The roles that the user has directly; groups may give more.'),
  status,
  source: z.enum(['api', 'oidc', 'slack', 'bootstrap']).meta({ description: 'Where the user came from.' }),
  slack_user_id: slackUserId,
  last_seen_at: instant('When the user last called with an ID token of the identity provider.').nullable(),
  created_at: instant('When the user was made.'),
  updated_at: instant('When the user was last changed.'),
});

export const users = named('UserList', 'Users, newest first.', { users: list(user, 'The users.') });

export const createdUser = named('CreatedUser', 'A user that was made.', {
  id: userIdText('The id of the user.'),
  token: text('The initial token. It is shown this once.'),
  token_prefix: text('How the token begins.'),
  roles: rolesOf('The roles of the user.'),
  groups: groups('The groups of the user.'),
});

export const updatedUser = named('UpdatedUser', 'A user after a change.', {
  id: userIdText('The id of the user.'),
  updated: flag('False if there was nothing to change.'),
  roles: rolesOf('The roles that the user has directly.'),
  groups: groups('The groups of the user.'),
  slack_user_id: slackUserId,
  status,
});

const cancelledRequests = list(
  uuid('A request.'),
  'Every request of the user that had not ended. Running ones end when their agent has stopped.',
);
const revokedTokens = z.int().meta({ description: 'How many tokens were revoked.' });

export const suspendedUser = named('SuspendedUser', 'A user who was suspended.', {
  id: userIdText('The id of the user.'),
  revoked_tokens: revokedTokens,
  cancelled_requests: cancelledRequests,
});

export const activatedUser = named('ActivatedUser', 'A user who may call again.', {
  id: userIdText('The id of the user.'),
  status: z.literal('active').meta({ description: 'Always `active`.' }),
});

export const deletedUser = named('DeletedUser', 'A user who was deleted.', {
  id: userIdText('The id of the user.'),
  deleted: z.literal(true).meta({ description: 'Always true.' }),
  revoked_tokens: revokedTokens,
  cancelled_requests: cancelledRequests,
});

export const groupList = named('GroupList', 'The configured groups.', { groups: groups('Their names.') });

export const group = named('Group', 'A group.', {
  name: groupName,
  roles: rolesOf('The roles that it gives.'),
  members: list(userIdText('A user.'), 'Its members, in order of joining.'),
});

const reach = {
  databases: list(text('A name, or `*`.'), 'The databases that it covers; `*` = all.'),
  environments: list(text('A name, or `*`.'), 'The environments that it covers; `*` = all.'),
};

export const role = named('Role', 'A role.', {
  name: roleName,
  builtin: flag('True if it is built in.'),
  permissions: list(
    z.object({
      perm: permission,
      ownership: z
        .enum(['own', 'any'])
        .meta({ description: 'Whether it holds for your own objects, or for those of everybody.' }),
    }),
    'What it allows.',
  ),
  ...reach,
});

export const roleList = named('RoleList', 'The roles.', { roles: list(role, 'Those built in, then the others by name.') });

export const ceiling = z
  .object({ roles: rolesOf('The roles.') })
  .nullable()
  .meta({ description: 'The roles that the token is limited to; null = all that its subject has.' });
export const tokenName = text('What the token is for.').nullable();
export const expiresAt = instant('When the token expires; null = never.').nullable();
export const tokenId = uuid('The id of the token.');

export const me = named('Me', 'Who you are, and what you may do.', {
  subject_id: userIdText('Your id.'),
  subject_type: z.literal('user').meta({ description: 'Always `user`.' }),
  ...facts,
  source,
  slack_user_id: slackUserId,
  roles: list(
    z.object({
      name: roleName,
      permissions: permissions('What it allows.'),
      ...reach,
    }),
    'Your roles within the limits of the token.',
  ),
  groups: groups('Your groups.'),
  token: z
    .object({ id: tokenId, name: tokenName, scope_ceiling: ceiling, expires_at: expiresAt })
    .nullable()
    .meta({ description: 'The API token that you call with; null for a sign-in.' }),
});
