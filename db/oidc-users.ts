import type { Grant } from '../domain/four-eyes.js';
import type { Login } from '../domain/oidc/claims.js';
import type { StoredUser } from '../domain/stored-caller.js';
import type { Queryable, Transaction } from './client.js';
import { granted, memberships } from './grants.js';
import type { UserRow } from './users.js';

/** A user as a login finds them. */
export interface OidcUser extends StoredUser {
  status: UserRow['status'];
  source: UserRow['source'];
  /** What the login brings is not what is stored, or was last written a minute ago (IM-33). */
  isStale: boolean;
  /** No login of the last hour is in the audit log (IM-37). */
  isUnrecorded: boolean;
}

export async function findOidcUser(db: Queryable, { subject, displayName, email }: Login): Promise<OidcUser | undefined> {
  const [row] = await db.query<OidcUser>(
    `select u.id as "subjectId", u.status, u.source, u.roles, coalesce(u.role_grants, '{}') as "roleGrants", ${memberships} as memberships,
       u.created_by->'origins' as "accountOrigins",
       ${isStale} as "isStale", ${isUnrecorded} as "isUnrecorded"
     from users u where u.id = $1`,
    [subject, displayName, email],
  );
  return row;
}

/** By the name $2 and the address $3 of the login; a missing claim changes nothing. */
const isStale = `(coalesce(u.last_seen_at < clock_timestamp() - interval '1 minute', true)
    or u.display_name is distinct from coalesce($2::text, u.display_name) or u.email is distinct from coalesce($3::text, u.email))`;

const isUnrecorded = `coalesce(u.login_recorded_at <= clock_timestamp() - interval '1 hour', true)`;

export async function insertOidcUser(tx: Transaction, { subject, displayName, email }: Login, by: Grant): Promise<void> {
  await tx.query(
    `insert into users (id, roles, source, created_by, role_grants, display_name, email)
     values ($1, '{}', 'oidc', ${granted('$2')}, '{}', $3, $4)`,
    [subject, JSON.stringify(by), displayName, email],
  );
}

/** Writes what a login brings. Returns whether this login is the one of the hour that the audit log gets. */
export async function touchOidcUser(tx: Transaction, { subject, displayName, email }: Login): Promise<boolean> {
  await tx.query(
    `update users u set display_name = coalesce($2, u.display_name), email = coalesce($3, u.email), last_seen_at = clock_timestamp()
     where id = $1 and ${isStale}`,
    [subject, displayName, email],
  );
  const rows = await tx.query(
    `update users u set login_recorded_at = clock_timestamp() where id = $1 and ${isUnrecorded} returning 1 as one`,
    [subject],
  );
  return rows.length > 0;
}
