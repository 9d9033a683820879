import type { Config } from '../../config/types.js';
import { insertAuditEvents } from '../../db/audit.js';
import type { Transaction } from '../../db/client.js';
import { violates } from '../../db/errors.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import { transactionBy } from '../../db/standing.js';
import { insertToken } from '../../db/tokens.js';
import { insertMemberships, insertUser, lockActiveCount, type UserRow } from '../../db/users.js';
import type { Actor } from '../../domain/audit/draft.js';
import type { Caller } from '../../domain/caller.js';
import { invalid, notFound, refusal } from '../../domain/errors.js';
import { grantBy } from '../../domain/four-eyes.js';
import { roleNamesOf } from '../../domain/role-names.js';
import { isReservedId } from '../../domain/selectors.js';
import type { Generation, Services } from '../context.js';
import { tokenCreated, userCreated } from './events.js';
import { keepKnownGroups, refuseAboveLimit, requireGrantable, requireKnown, requireKnownGroups, resolve } from './granting.js';
import { type InitialToken, newInitialToken } from './initial-token.js';

export interface Acting {
  caller: Caller;
  actor: Actor;
  generation: Generation;
}

/** `POST /api/users` (IM-62): user, memberships, initial token and events, all or nothing. */
export async function createUser(
  call: Acting & { body: { id: string; roles: string[]; groups: string[] } },
  { database, config }: Services,
) {
  const user = plannedUser(call, { ...call.body, source: 'api', slackUserId: null });
  await transactionBy(database, call.actor, (tx) => writeUser(tx, call, user, config()));
  const { id, token, stored, groups } = user;
  return { id, token, token_prefix: stored.prefix, roles: stored.scopeCeiling, groups };
}

type NewUser = Pick<UserRow, 'id' | 'roles' | 'groups' | 'slackUserId'> & { source: 'api' | 'slack' };

export interface PlannedUser extends NewUser {
  /** The raw initial token. */
  token: string;
  stored: InitialToken;
}

/** The new user with the initial token, if all roles and groups are known and the caller may grant them (IM-53). */
export function plannedUser({ caller, generation }: Acting, user: NewUser): PlannedUser {
  if (isReservedId(user.id)) throw invalid(`${user.id} is no id for a user: the audit log calls others so`, 'body.id');
  const roles = [...new Set(user.roles)];
  const groups = [...new Set(user.groups)].sort();
  requireKnown(generation, 'roles', user.roles);
  requireKnownGroups(generation.shared, user.groups);
  const resolved = resolve(generation, { roles, groups });
  requireGrantable(caller, resolved);
  return { ...user, roles, groups, ...newInitialToken(user.id, roleNamesOf(resolved), grantBy(caller)) };
}

/** Call after `keepStanding`, in the same transaction. */
export async function writeUser(
  tx: Transaction,
  { caller, actor, generation }: Acting,
  user: PlannedUser,
  config: Config,
): Promise<void> {
  const by = grantBy(caller);
  const active = await lockActiveCount(tx);
  if (!(await insertUser(tx, user, by))) throw refusal('user.conflict', 'user id is taken');
  refuseAboveLimit(active, config);
  await keepKnownGroups(tx, generation, user.groups);
  await insertMemberships(tx, user.id, user.groups, by);
  await insertToken(tx, user.stored);
  await insertAuditEvents(tx, [...userCreated(actor, user), tokenCreated(actor, user.stored)]);
}

/** What to throw for an error of a transaction that links a Slack user. */
export const linkError = (error: unknown): unknown =>
  violates(error, 'users_slack_user_id_key') ? refusal('user.conflict', 'the Slack user is linked to another user') : error;

/** 404 for an unknown user, 410 for a deleted one (IM-59). */
export function requireThere(user: UserRow | undefined): asserts user is UserRow {
  if (user === undefined) throw notFound('user');
  if (user.status === 'deleted') throw refusal('user.gone', 'user is deleted');
}

/** Of a user who is there. */
export const shownStatus = ({ status }: UserRow) => (status === 'suspended' ? ('suspended' as const) : ('active' as const));

export function shownUser(row: UserRow) {
  return {
    id: row.id,
    display_name: row.displayName,
    email: row.email,
    groups: row.groups,
    roles: row.roles,
    status: shownStatus(row),
    source: row.source,
    slack_user_id: row.slackUserId,
    last_seen_at: isoOrNull(row.lastSeenAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
