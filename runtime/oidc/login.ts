import { insertAuditEvents } from '../../db/audit.js';
import type { Database } from '../../db/client.js';
import { findOidcUser, insertOidcUser, type OidcUser, touchOidcUser } from '../../db/oidc-users.js';
import { lockActiveCount } from '../../db/users.js';
import type { Actor, AuditDraft } from '../../domain/audit/draft.js';
import { systemGrant } from '../../domain/four-eyes.js';
import type { Login } from '../../domain/oidc/claims.js';
import type { ClientAddress } from '../client-address.js';

export interface LoginOptions {
  database: Database;
  /** Of the plan in force; null = no limit. */
  maxUsers: number | null;
  linkExistingUsers: boolean;
  address: ClientAddress;
}

export type LoginFault = 'local_user' | 'user_limit';

/** The user of a verified login, created at the first one (IM-33), or why there is none. Of simultaneous first logins, one creates the user. */
export async function loggedIn(login: Login, options: LoginOptions): Promise<OidcUser | LoginFault> {
  const { database, linkExistingUsers } = options;
  const found = (await findOidcUser(database, login)) ?? (await create(login, options));
  if (typeof found === 'string') return found;
  if (found.source !== 'oidc' && !linkExistingUsers) return 'local_user';
  if (found.status === 'active' && (found.isStale || found.isUnrecorded)) await touch(login, options);
  return found;
}

async function create(login: Login, { database, maxUsers, address }: LoginOptions): Promise<OidcUser | LoginFault> {
  return database.transaction(async (tx) => {
    const active = await lockActiveCount(tx);
    const other = await findOidcUser(tx, login);
    if (other !== undefined) return other;
    if (maxUsers !== null && active >= maxUsers) return 'user_limit';
    await insertOidcUser(tx, login, systemGrant);
    await insertAuditEvents(tx, [userCreated(login, address)]);
    const made = await findOidcUser(tx, login);
    if (made === undefined) throw new Error('a user was neither found nor made');
    return made;
  });
}

async function touch(login: Login, { database, address }: LoginOptions): Promise<void> {
  await database.transaction(async (tx) => {
    if (await touchOidcUser(tx, login)) await insertAuditEvents(tx, [loginSuccess(login, address)]);
  });
}

const actorOf = ({ subject }: Login, address: ClientAddress): Actor => ({ id: subject, type: 'user', tokenId: null, ...address });

const userCreated = (login: Login, address: ClientAddress): AuditDraft => ({
  type: 'user.created',
  outcome: 'success',
  actor: actorOf(login, address),
  resourceType: 'user',
  resourceId: login.subject,
  reason: null,
  metadata: { source: 'oidc', roles: [], groups: [] },
});

const loginSuccess = (login: Login, address: ClientAddress): AuditDraft => ({
  type: 'auth.login_success',
  outcome: 'success',
  actor: actorOf(login, address),
  resourceType: 'user',
  resourceId: login.subject,
  reason: null,
  metadata: { source: 'oidc' },
});
