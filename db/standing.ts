import type { Actor } from '../domain/audit/draft.js';
import { invalidToken, suspended } from '../domain/errors.js';
import type { Transaction } from './client.js';
import { keepUnrevoked } from './tokens.js';
import { lockActive } from './users.js';

/** What must still be true of whoever makes a call when its work commits: the user is active, and the token is not revoked. */
export type Standing = Pick<Actor, 'id' | 'type' | 'tokenId'>;

/** Throws 401 if the user is no longer active or the token has been revoked (IM-I4, IM-72). Keeps both so until the transaction ends. */
export async function keepStanding(tx: Transaction, { id, type, tokenId }: Standing): Promise<void> {
  const [isActive, isUnrevoked] = await Promise.all([
    type === 'user' ? lockActive(tx, { id }) : true,
    tokenId === null ? true : keepUnrevoked(tx, tokenId),
  ]);
  if (!isActive) throw suspended();
  if (!isUnrevoked) throw invalidToken();
}
