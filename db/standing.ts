import type { Actor } from '../domain/audit/draft.js';
import { GatewayError, invalidToken, suspended, unlinked } from '../domain/errors.js';
import type { Database, Transaction } from './client.js';
import { sharedLock } from './subject-lock.js';
import { keepUnrevoked } from './tokens.js';
import { isLinked, lockActive } from './users.js';

/** What must still be true of whoever makes a call when its work commits: the user is active, and the token is not revoked or the Slack account still linked. */
export type Standing = Pick<Actor, 'id' | 'type' | 'tokenId' | 'slackUserId'>;

/** Throws if the user is no longer active, the token has been revoked or the link has ended (IM-I4, IM-72, SL-13). Keeps all so until the transaction ends. */
export async function keepStanding(tx: Transaction, { id, type, tokenId, slackUserId }: Standing): Promise<void> {
  const [, isActive, isUnrevoked, isStillLinked] = await Promise.all([
    type === 'agent' ? tx.query(sharedLock('agent', '$1::text'), [id]) : null,
    type === 'user' ? lockActive(tx, { id }) : true,
    tokenId === null ? true : keepUnrevoked(tx, tokenId),
    slackUserId === undefined ? true : isLinked(tx, id, slackUserId),
  ]);
  if (!isActive) throw suspended();
  if (!isUnrevoked) throw invalidToken();
  if (!isStillLinked) throw unlinked();
}

/** Runs `work` in a transaction that commits only with the standing of whoever makes the call; 401 otherwise. */
export const transactionBy = <T>(db: Database, who: Standing, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  db.transaction(async (tx) => {
    await keepStanding(tx, who);
    return work(tx);
  });

/** Whether this error says that the standing of whoever makes the call has ended. */
export const hasEnded = (error: unknown): boolean =>
  error instanceof GatewayError && (error.code === 'auth.invalid_token' || error.code === 'auth.user_suspended');

/** Each condition is only looked at if those before it hold: users are locked before tokens, by whoever suspends a user too. */
export const inTurn = (parts: readonly { holds: string }[]): string =>
  parts.map(({ holds }) => holds).reduceRight((rest, holds) => `case when ${holds} then ${rest} else false end`, 'true');
