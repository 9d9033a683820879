import type { Queryable } from './client.js';

/** Which of these ids no active user has, and which of these groups have no member. */
export async function findUnknownNames(
  db: Queryable,
  users: readonly string[],
  groups: readonly string[],
): Promise<{ users: string[]; groups: string[] }> {
  const [row] = await db.query<{ users: string[]; groups: string[] }>(
    `select array(select given.id from unnest($1::text[]) as given(id)
         where not exists (select from users u where u.id = given.id and u.status = 'active')) as users,
       array(select given.name from unnest($2::text[]) as given(name)
         where not exists (select from group_members g where g.group_name = given.name)) as groups`,
    [users, groups],
  );
  return row ?? { users: [], groups: [] };
}
