import { randomUUID } from 'node:crypto';
import { newApiToken } from '../../crypto/api-token.js';
import { insertAuditEvents } from '../../db/audit.js';
import type { Transaction } from '../../db/client.js';
import { databaseNow } from '../../db/clock.js';
import { keepStanding } from '../../db/standing.js';
import { insertToken, revokeOldSessions } from '../../db/tokens.js';
import type { Actor } from '../../domain/audit/draft.js';
import type { Origins } from '../../domain/caller.js';
import { refusal } from '../../domain/errors.js';
import { roleNamesOf } from '../../domain/role-names.js';
import type { Authenticated } from '../../runtime/authentication.js';
import type { ProviderWord } from '../../runtime/credential-verdict.js';
import { tokenCreated, tokenRevoked } from '../identity/events.js';

/** How many sessions a user may have. The next one ends the oldest. */
const maxSessions = 100;

/** What a session takes over from the credential that it is made from (CO-11). */
export interface SessionSource {
  userId: string;
  /** The roles that the credential may use. */
  ceiling: string[];
  /** Null for a JWT. */
  tokenId: string | null;
  word: ProviderWord | null;
  /** The users behind the credential: a session hides nobody of them (HD-70). */
  origins: Origins;
  expiresAt: number | null;
}

export function sourceOf({ caller, expiresAt, word }: Authenticated): SessionSource {
  if (caller.kind === 'agent') throw refusal('auth.forbidden', 'agent tokens cannot access this endpoint');
  const { id, tokenId, roles, origins } = caller;
  return { userId: id, ceiling: roleNamesOf(roles), tokenId, word, origins: [...origins.credential], expiresAt };
}

/** A session that was just made, and for how long it is good. */
export interface Session {
  token: string;
  seconds: number;
}

/** Makes the session and returns its token. Refuses what has ended since the credential was checked. */
export async function openSession(tx: Transaction, actor: Actor, source: SessionSource, sessionSecs: number): Promise<Session> {
  const { userId, tokenId, ceiling, word } = source;
  await keepStanding(tx, { id: userId, type: 'user', tokenId });
  const now = await databaseNow(tx);
  const expiresAt = Math.min(now + sessionSecs * 1000, source.expiresAt ?? Number.POSITIVE_INFINITY);
  const seconds = Math.floor((expiresAt - now) / 1000);
  if (seconds < 1) throw refusal('auth.token_expired', 'token expired');
  const { token, hash, prefix } = newApiToken();
  const kind = { subjectType: 'user', subjectId: userId, scopeCeiling: ceiling, provisioningKind: 'console' } as const;
  const issuedBy = { by: userId, token: tokenId, origins: source.origins };
  const stored = { id: randomUUID(), ...kind, name: 'console', expiresAt, hash, prefix, issuedBy, parentId: tokenId, word };
  const ended = await revokeOldSessions(tx, userId, maxSessions - 1);
  await insertToken(tx, stored);
  await insertAuditEvents(tx, [
    ...ended.map((id) => tokenRevoked(actor, { id, subjectId: userId }, 'too_many_sessions')),
    tokenCreated(actor, stored),
  ]);
  return { token, seconds };
}
