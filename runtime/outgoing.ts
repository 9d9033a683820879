import { randomUUID } from 'node:crypto';
import type { Config } from '../config/types.js';
import { cardNews } from '../domain/notifications/card-news.js';
import { type Notice, requestNotices, userNotices } from '../domain/notifications/notice.js';
import { type NewDelivery, nothingOutgoing, type OutgoingOf } from '../domain/notifications/outgoing.js';
import { genericBody } from '../domain/notifications/payload.js';
import { routesOf } from '../domain/notifications/routing.js';
import { slackBody } from '../domain/notifications/slack-message.js';
import type { SharedConfig, SharedWebhook } from '../domain/policies.js';
import { slackIsOn } from './slack-client.js';

interface OwnConfig {
  server: Pick<Config['server'], 'publicUrl'>;
  slack: Pick<Config['slack'], 'botToken' | 'signingSecret' | 'channel'>;
}

/** What events send out, by the configuration in force when they are written (NT-14). Cards are asked for by a process that has Slack on (SL-1). */
export function outgoingBy(shared: () => SharedConfig, config: () => OwnConfig): OutgoingOf {
  return (events, about) => {
    const routing = shared();
    const { server, slack } = config();
    const hasSlack = about !== null && slackIsOn(slack);
    if (routing.webhooks.length === 0 && !hasSlack) return nothingOutgoing;
    const notices = about === null ? userNotices(events) : requestNotices(events, about.request, about.detail);
    return {
      deliveries: notices.flatMap((notice) => deliveriesOf(notice, routing, server)),
      cards: hasSlack ? cardNews(notices, about.request, routing, slack.channel) : [],
    };
  };
}

/** One delivery of the notice to each webhook that subscribes to it. */
export const deliveriesOf = (notice: Notice, routing: SharedConfig, server: OwnConfig['server']): NewDelivery[] =>
  routesOf(routing, notice).webhooks.map((webhook) => deliveryOf(webhook, notice, server));

/** The body is built once, here (NT-22). */
export const deliveryOf = ({ id, format }: SharedWebhook, notice: Notice, { publicUrl }: OwnConfig['server']): NewDelivery => ({
  id: randomUUID(),
  webhookId: id,
  eventType: notice.event,
  requestId: notice.request?.id ?? null,
  body: bodies[format](notice, publicUrl),
  yields: false,
});

const bodies = { generic: genericBody, slack: slackBody } satisfies Record<
  SharedWebhook['format'],
  (notice: Notice, publicUrl: string | null) => string
>;
