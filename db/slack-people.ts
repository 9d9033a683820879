import type { CardRequest } from '../domain/slack/card.js';
import type { Queryable } from './client.js';
import { findOutline } from './request-state.js';

/** A request as its card shows it; undefined if the id is not stored. */
export async function findCardRequest(db: Queryable, id: string): Promise<CardRequest | undefined> {
  const further = `r.reason, r.risk_level as risk, r.metadata, exists (select from results s where s.request_id = r.id) as "hasResult"`;
  return (await findOutline(db, id, further)) as CardRequest | undefined;
}

/** An active user as Slack may know one. */
export interface Person {
  id: string;
  slackUserId: string | null;
  email: string | null;
}

/** Of the named users those who are active, in no order. */
export const findPeople = (db: Queryable, ids: readonly string[]): Promise<Person[]> =>
  db.query(`select id, slack_user_id as "slackUserId", email from users where id = any($1::text[]) and status = 'active'`, [ids]);

/** Up to `limit` active users of these groups and roles, by id. */
export const listMembers = (
  db: Queryable,
  { groups, roles, without }: { groups: readonly string[]; roles: readonly string[]; without: readonly string[] },
  limit: number,
): Promise<Person[]> =>
  db.query(
    `select id, slack_user_id as "slackUserId", email from users
     where status = 'active' and id <> all($3::text[])
       and (id in (select user_id from group_members where group_name = any($1::text[])) or roles && $2::text[]) order by id limit $4`,
    [groups, roles, without, limit],
  );
