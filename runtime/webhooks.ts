import { randomUUID } from 'node:crypto';
import type { DeliveriesOf, NewDelivery } from '../domain/notifications/new-delivery.js';
import { type Notice, requestNotices, userNotices } from '../domain/notifications/notice.js';
import { genericBody } from '../domain/notifications/payload.js';
import { routesOf } from '../domain/notifications/routing.js';
import { slackBody } from '../domain/notifications/slack-message.js';
import type { SharedConfig, SharedWebhook } from '../domain/policies.js';

/** The deliveries of events, by the configuration in force when they are written (NT-14). */
export function deliveriesBy(shared: () => SharedConfig): DeliveriesOf {
  return (events, about) => {
    const routing = shared();
    if (routing.webhooks.length === 0) return [];
    const notices = about === null ? userNotices(events) : requestNotices(events, about.request, about.detail);
    return notices.flatMap((notice) => routesOf(routing, notice).webhooks.map((webhook) => deliveryOf(webhook, notice)));
  };
}

/** The body is built once, here (NT-22). */
export const deliveryOf = ({ id, format }: SharedWebhook, notice: Notice): NewDelivery => ({
  id: randomUUID(),
  webhookId: id,
  eventType: notice.event,
  requestId: notice.request?.id ?? null,
  body: bodies[format](notice),
  yields: false,
});

const bodies = { generic: genericBody, slack: slackBody } satisfies Record<SharedWebhook['format'], (notice: Notice) => string>;
