import { findCardChannel } from '../../db/slack-cards.js';
import type { Actor } from '../../domain/audit/draft.js';
import { notDelivered } from '../../domain/slack/token-message.js';
import type { SlackCall } from './call.js';
import { ownTime } from './in-time.js';
import { deliverToken } from './token-delivery.js';
import { callSlack, report } from './told.js';

interface Made {
  onboarding: { id: string };
  user: { id: string; slackUserId: string | null; token: string; stored: { id: string } };
}

/** Sends the token of a user whom a review made, after its answer; a stop of the server waits for it. If that fails, the reviewer alone is told how to issue another one (SL-44). */
export function deliverInitialToken(call: SlackCall, actor: Actor, made: Made): void {
  const work = () => deliver(call, actor, made).catch((error: unknown) => report(call, error));
  call.services.errands.run(() => ownTime(work));
}

async function deliver(call: SlackCall, actor: Actor, { onboarding, user }: Made): Promise<void> {
  const { services, slackUserId: reviewer } = call;
  const { id: userId, slackUserId, token, stored } = user;
  if (slackUserId === null) return;
  const to = { actor, slackUserId, userId, token, tokenId: stored.id, elseReturned: false };
  if (await deliverToken(services, to)) return;
  const channel = (await findCardChannel(services.database, onboarding.id, slackUserId)) ?? services.config().slack.channel;
  await callSlack(call, 'chat.postEphemeral', { channel, user: reviewer, text: notDelivered(userId) });
}
