import type { StoredUser } from '../domain/stored-caller.js';
import type { Queryable } from './client.js';
import { memberships } from './grants.js';

interface Named {
  users: readonly string[];
  groups: readonly string[];
  roles: readonly string[];
}

const isNamed = `u.status = 'active' and (u.id = any($1::text[]) or u.roles && $3::text[]
  or exists (select from group_members m where m.user_id = u.id and m.group_name = any($2::text[])))`;

/** Up to `limit` active users who are named, are in one of the groups or hold one of the roles directly, with what decides how they may approve. */
export const listApprovers = (db: Queryable, { users, groups, roles }: Named, limit: number): Promise<StoredUser[]> =>
  db.query<StoredUser>(
    `select u.id as "subjectId", u.roles, coalesce(u.role_grants, '{}') as "roleGrants", ${memberships} as memberships,
       u.created_by->'origins' as "accountOrigins" from users u where ${isNamed} limit $4`,
    [users, groups, roles, limit],
  );

/** The same without who granted what, from what every schema version has. */
export const listApproversOfOld = (db: Queryable, { users, groups, roles }: Named, limit: number): Promise<StoredUser[]> =>
  db.query<StoredUser>(
    `select u.id as "subjectId", u.roles, '{}'::jsonb as "roleGrants", null as "accountOrigins",
       coalesce((select jsonb_agg(jsonb_build_object('group', g.group_name, 'origins', null)) from group_members g where g.user_id = u.id), '[]') as memberships
     from users u where ${isNamed} limit $4`,
    [users, groups, roles, limit],
  );
