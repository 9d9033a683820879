import { insertLoneEvent } from '../../db/audit.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import type { Actor } from '../../domain/audit/draft.js';
import { isSlackUserId } from '../../domain/slack/mentions.js';
import { tokenMessage } from '../../domain/slack/token-message.js';
import { tryToAudit } from '../../runtime/try-to-audit.js';
import type { Services } from '../context.js';
import { tokenDelivered } from '../identity/events.js';

export interface TokenToDeliver {
  actor: Actor;
  slackUserId: string;
  userId: string;
  token: string;
  tokenId: string;
  /** Whether the caller gets the token if Slack does not accept it. */
  elseReturned: boolean;
}

/**
 * Sends an initial token to its user, once (SL-46): an unclear outcome counts as a failure, and nothing repeats it. It takes at most 10 s, and ends with
 * the event of the outcome (IM-68). Returns whether Slack took it.
 */
export async function deliverToken(services: Services, to: TokenToDeliver): Promise<boolean> {
  const { actor, slackUserId, tokenId, elseReturned } = to;
  // The name of a channel would post the token to it.
  const delivered = isSlackUserId(slackUserId) && (await send(services, to));
  const event = tokenDelivered(actor, tokenId, delivered ? 'delivered' : 'failed', !delivered && elseReturned);
  // The token is valid and on its way: a refusal now would lose it.
  await tryToAudit(services, 'token.delivery', () => insertLoneEvent(services.database, event));
  return delivered;
}

async function send({ slack, log }: Services, { slackUserId, userId, token }: TokenToDeliver): Promise<boolean> {
  const args = { channel: slackUserId, ...tokenMessage({ userId, token }) };
  const answer = await outsideDatabaseWork(() => slack.call('chat.postMessage', args));
  if (!answer.ok) log.warn({ subject_id: userId, error: answer.error }, 'Slack did not deliver a token');
  return answer.ok;
}
