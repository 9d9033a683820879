import { countDeliveries, type ListedDelivery, listDeliveries } from '../../db/delivery-list.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import { transactionBy } from '../../db/standing.js';
import { insertDeliveries } from '../../db/webhook-deliveries.js';
import { notFound } from '../../domain/errors.js';
import { requireEverywhere } from '../../domain/lacking.js';
import { type DeliveryStatus, deliveryName } from '../../domain/notifications/attempt.js';
import { bareNotice } from '../../domain/notifications/notice.js';
import { maxAttempts } from '../../domain/notifications/schedule.js';
import type { SharedWebhook } from '../../domain/policies.js';
import { deliveryOf } from '../../runtime/outgoing.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { withHistory } from '../policies/lists.js';

type AnyCall<P = unknown, Q = unknown> = Call<P, Q, unknown>;

/** `GET /api/webhooks`, in the order of the file (NT-60). */
export function listWebhooks({ caller, generation }: AnyCall, services: Services) {
  requireEverywhere(caller, 'workflow.read');
  return withHistory(services, generation, {
    list: 'webhooks',
    policies: generation.shared.webhooks,
    show: (one) => shownWebhook(one, services),
  });
}

/** `GET /api/webhooks/{id}`. */
export async function showWebhook(call: AnyCall<{ id: string }>, services: Services) {
  const found = (await listWebhooks(call, services)).find(({ id }) => id === call.params.id);
  if (found === undefined) throw notFound('webhook');
  const { lastDeliveredAt, lastError, ...counts } = await countDeliveries(services.database, found.id);
  return { ...found, deliveries: { ...counts, last_delivered_at: isoOrNull(lastDeliveredAt), last_error: lastError } };
}

/** URL and secret are in this server's own file only, and neither path nor secret ever leaves (C9). */
function shownWebhook({ id, events, format }: SharedWebhook, { config }: Services) {
  const own = config().webhooks.find((webhook) => webhook.id === id);
  return {
    id,
    url: own === undefined ? null : shownUrl(own.url),
    events,
    format,
    secret: own?.secret == null ? null : '********',
    status: 'active' as const,
  };
}

function shownUrl(text: string): string {
  const { origin, pathname, search } = new URL(text);
  return pathname === '/' && search === '' ? origin : `${origin}/…`;
}

/** `POST /api/webhooks/{id}/test`: sends `webhook.test`, whatever the webhook subscribes to (NT-10). */
export async function testWebhook({ actor, generation, params }: AnyCall<{ id: string }>, { database, config }: Services) {
  const webhook = generation.shared.webhooks.find(({ id }) => id === params.id);
  if (webhook === undefined) throw notFound('webhook');
  const delivery = deliveryOf(webhook, bareNotice('webhook.test', actor.id), config().server);
  await transactionBy(database, actor, (tx) => insertDeliveries(tx, [delivery]));
  return { delivery_id: deliveryName(delivery.id) };
}

interface DeliveryQuery {
  status?: DeliveryStatus | undefined;
  webhook_id?: string | undefined;
  event_type?: string | undefined;
  limit: number;
  offset: number;
}

/** `GET /api/webhook-deliveries` (NT-61). */
export async function showDeliveries({ query }: AnyCall<unknown, DeliveryQuery>, { database }: Services) {
  const { status, webhook_id: webhookId, event_type: eventType, limit, offset } = query;
  const { deliveries, total } = await listDeliveries(database, { status, webhookId, eventType }, { limit, offset });
  return { deliveries: deliveries.map(shownDelivery), total, limit, offset };
}

const shownDelivery = (one: ListedDelivery) => ({
  id: deliveryName(one.id),
  webhook_id: one.webhookId,
  event_type: one.eventType,
  request_id: one.requestId,
  status: one.status,
  attempts: one.attempts,
  max_attempts: maxAttempts,
  last_error: one.lastError,
  created_at: iso(one.createdAt),
  next_retry_at: isoOrNull(one.nextRetryAt),
  finished_at: isoOrNull(one.finishedAt),
});
