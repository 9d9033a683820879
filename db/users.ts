import type { Grant } from '../domain/four-eyes.js';
import type { StoredSlackUser } from '../domain/stored-caller.js';
import type { Queryable, Transaction } from './client.js';
import { granted, memberships } from './grants.js';
import { topic } from './notifications.js';
import type { Parameters } from './parameters.js';
import { lockSubject, sharedLock } from './subject-lock.js';

export interface UserRow {
  id: string;
  displayName: string | null;
  email: string | null;
  /** Direct roles only. */
  roles: string[];
  /** Stored memberships, sorted. */
  groups: string[];
  status: 'active' | 'suspended' | 'deleted';
  source: 'api' | 'oidc' | 'slack' | 'bootstrap';
  slackUserId: string | null;
  lastSeenAt: number | null;
  createdAt: number;
  updatedAt: number;
}

const columns = `u.id, u.display_name as "displayName", u.email, u.roles, u.status, u.source, u.slack_user_id as "slackUserId",
  u.last_seen_at as "lastSeenAt", u.created_at as "createdAt", u.updated_at as "updatedAt",
  array(select g.group_name from group_members g where g.user_id = u.id order by g.group_name collate "C") as groups`;

/** All except deleted users, newest first. */
export function listUsers(db: Queryable): Promise<UserRow[]> {
  return db.query<UserRow>(`select ${columns} from users u where u.status <> 'deleted' order by u.created_at desc, u.id desc`);
}

/** Includes deleted users. */
export async function findUser(db: Queryable, id: string): Promise<UserRow | undefined> {
  const [row] = await db.query<UserRow>(`select ${columns} from users u where u.id = $1`, [id]);
  return row;
}

/** The user who is linked to a Slack account, with everything that decides what they may do (SL-13). A deleted user has no link. */
export async function findSlackUser(
  db: Queryable,
  slackUserId: string,
): Promise<(StoredSlackUser & { status: UserRow['status'] }) | undefined> {
  const [row] = await db.query<StoredSlackUser & { status: UserRow['status'] }>(
    `select u.id as "subjectId", u.status, u.roles, coalesce(u.role_grants, '{}') as "roleGrants",
       ${memberships} as memberships,
       u.created_by->'origins' as "accountOrigins", u.slack_linked_by->'origins' as "linkOrigins"
     from users u where u.slack_user_id = $1`,
    [slackUserId],
  );
  return row;
}

/**
 * Whether a user is active: one by id, or the owner of a request that is not locked yet. Prevents their suspension and deletion until the transaction
 * ends (IM-65). First in the lock order.
 */
export async function lockActive(tx: Transaction, who: { id: string } | { ownerOf: string }): Promise<boolean> {
  const [id, value] = 'id' in who ? ['$1::text', who.id] : ['(select requester from requests where id = $1)', who.ownerOf];
  const text = `select status = 'active' as active from users where id = ${id} for key share`;
  const [, [row]] = await Promise.all([tx.query(sharedLock('user', id), [value]), tx.query<{ active: boolean }>(text, [value])]);
  return row?.active ?? false;
}

/** Whether the Slack account is the one of this user, whom `lockActive` has locked: then it stays so until the transaction ends. */
export async function isLinked(tx: Transaction, id: string, slackUserId: string): Promise<boolean> {
  const [row] = await tx.query<{ linked: boolean }>('select slack_user_id = $2 as linked from users where id = $1', [
    id,
    slackUserId,
  ]);
  return row?.linked ?? false;
}

/** Whether a user is suspended or deleted. Until the transaction ends nobody activates them, or ends anything else that they have open. */
export async function lockGone(tx: Transaction, id: string): Promise<boolean> {
  const [row] = await tx.query<{ gone: boolean }>(
    `select status <> 'active' as gone from users where id = $1 for no key update`,
    [id],
  );
  return row?.gone ?? false;
}

/** Whether several users are active, as part `active` of a larger statement, which `holds` lets through only if each of them is. It prevents their suspension as `lockActive` does. */
export function activeUsers(p: Parameters, ids: readonly string[]): { part: string; holds: string } {
  const wanted = [...new Set(ids)];
  const part = `active as materialized (select 1 from users where id = any(${p.add(wanted)}::text[]) and status = 'active' for key share)`;
  return { part, holds: `(select count(*) from active) = ${p.add(wanted.length)}::int` };
}

/** Locks the user's row. The acting user's is kept first if its id is lower, so two users who act on each other do not deadlock. */
export async function lockUser(tx: Transaction, id: string, actingId: string): Promise<UserRow | undefined> {
  if (actingId < id) await lockActive(tx, { id: actingId });
  await lockSubject(tx, 'user', id);
  await tx.query('select id from users where id = $1 for update', [id]);
  return findUser(tx, id);
}

/** False if the id is taken, even by a deleted user (IM-62). A linked Slack id violates `users_slack_user_id_key`. */
export async function insertUser(
  tx: Transaction,
  user: { id: string; roles: readonly string[]; source: UserRow['source']; slackUserId?: string | null },
  by: Grant,
): Promise<boolean> {
  const rows = await tx.query<{ id: string }>(
    `insert into users (id, roles, source, created_by, role_grants, slack_user_id, slack_linked_by)
     values ($1, $2, $3, ${granted('$4')}, (select coalesce(jsonb_object_agg(role, ${granted('$4')}), '{}') from unnest($2::text[]) as role),
       $5, case when $5::text is not null then ${granted('$4')} end)
     on conflict (id) do nothing returning id`,
    [user.id, user.roles, user.source, JSON.stringify(by), user.slackUserId ?? null],
  );
  return rows.length > 0;
}

export async function insertMemberships(tx: Transaction, userId: string, groups: readonly string[], by: Grant): Promise<void> {
  if (groups.length === 0) return;
  await tx.query(
    `insert into group_members (user_id, group_name, granted_by) select $1, name, ${granted('$3')} from unnest($2::text[]) as name`,
    [userId, groups, JSON.stringify(by)],
  );
  tx.wake(topic.credentials(userId));
}

/** Removes and returns all memberships in groups outside `known` (IM-75). */
export function removeMembershipsExcept(
  tx: Transaction,
  known: readonly string[],
): Promise<{ userId: string; groupName: string }[]> {
  return tx.query<{ userId: string; groupName: string }>(
    `delete from group_members where group_name <> all($1::text[]) returning user_id as "userId", group_name as "groupName"`,
    [known],
  );
}

/** Member counts of the groups outside `known`. */
export function countMembersExcept(db: Queryable, known: readonly string[]): Promise<{ group: string; members: number }[]> {
  return db.query<{ group: string; members: number }>(
    `select group_name as "group", count(*) as members from group_members where group_name <> all($1::text[]) group by 1 order by 1`,
    [known],
  );
}

export async function countActiveUsers(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>(`select count(*) as count from users where status = 'active'`);
  return row?.count ?? 0;
}

/** How many users count for the plan (IM-69). Blocks other counts and creations until the transaction ends. */
export async function lockActiveCount(tx: Transaction): Promise<number> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('active users', 0))`);
  return countActiveUsers(tx);
}

/** Roles and groups of every active user, which decide who is an admin (IM-64). */
export function listActiveHolders(db: Queryable): Promise<{ roles: string[]; groups: string[] }[]> {
  return db.query<{ roles: string[]; groups: string[] }>(
    `select u.roles, array(select g.group_name from group_members g where g.user_id = u.id) as groups from users u where u.status = 'active'`,
  );
}

/** Makes changes that remove an admin wait for each other until the transaction ends (IM-64). */
export async function lockAdmins(tx: Transaction): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('admins', 0))`);
}

/**
 * Writes roles, Slack link and status of a locked user, and who granted each new one. What stays keeps its grant; what goes loses it. A
 * Slack id that belongs to another user violates `users_slack_user_id_key`.
 */
export async function updateUser(
  tx: Transaction,
  user: Pick<UserRow, 'id' | 'slackUserId' | 'status'> & { roles: readonly string[] },
  by: Grant,
): Promise<void> {
  await tx.query(
    `update users set roles = $2, slack_user_id = $3, status = $4, updated_at = clock_timestamp(),
       role_grants = (select coalesce(jsonb_object_agg(role, case when role = any(users.roles) then users.role_grants->role else ${granted('$5')} end), '{}')
         from unnest($2::text[]) as role where role <> all(users.roles) or users.role_grants ? role),
       slack_linked_by = case when $3::text is null then null when slack_user_id = $3 then slack_linked_by else ${granted('$5')} end
     where id = $1`,
    [user.id, user.roles, user.slackUserId, user.status, JSON.stringify(by)],
  );
  tx.wake(topic.credentials(user.id));
}

export async function deleteMemberships(tx: Transaction, userId: string, groups: readonly string[]): Promise<void> {
  if (groups.length === 0) return;
  await tx.query('delete from group_members where user_id = $1 and group_name = any($2::text[])', [userId, groups]);
  tx.wake(topic.credentials(userId));
}

/** Members in order of joining. */
export async function listMembers(db: Queryable, group: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    'select user_id as id from group_members where group_name = $1 order by joined_at, user_id',
    [group],
  );
  return rows.map(({ id }) => id);
}
