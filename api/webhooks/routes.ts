import { z } from 'zod';
import { notificationEvents } from '../../domain/notifications/events.js';
import { count, instant, list, named, oneOf, pageFields, text, uuid } from '../http/fields.js';
import { choiceParam, limitParam, offsetParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { redeliver } from './redeliver.js';
import { listWebhooks, showDeliveries, showWebhook, testWebhook } from './show.js';

const params = z.object({ id: text('The id of the webhook.', { maxLength: 128 }) });
const deliveryParams = z.object({ id: text('The id of the delivery, `wd-…`.', { maxLength: 39 }) });
const status = z
  .enum(['pending', 'in_progress', 'delivered', 'dead', 'cancelled'])
  .meta({ description: 'How far it is. `dead`: given up.' });
const deliveryId = text('The id of the delivery, `wd-…`.');
const queued = named('QueuedDelivery', 'A delivery that will be sent.', { delivery_id: deliveryId });
const lastError = text('What went wrong last.').nullable();

const fields = {
  id: text('The id of the webhook.'),
  url: text('Its scheme, host and port; null where this server has no such webhook.').nullable(),
  events: list(text('An event, `prefix.*` or `*`.'), 'What it is told of; empty = everything.'),
  format: z.enum(['generic', 'slack']).meta({ description: 'The form of its bodies.' }),
  secret: text('`********` if one is set, else null.').nullable(),
  status: z.literal('active').meta({ description: 'Always `active`.' }),
  created_at: instant('When it first appeared in the configuration.'),
  updated_at: instant('When it last changed.'),
};

const webhook = named('Webhook', 'A webhook.', fields);

const counts = z
  .object({
    pending: count('To be sent.'),
    in_progress: count('Being sent.'),
    delivered: count('Taken by the receiver.'),
    dead: count('Given up.'),
    cancelled: count('Not sent, as the webhook is gone.'),
    last_delivered_at: instant('When the receiver last took one.').nullable(),
    last_error: lastError,
  })
  .meta({ description: 'What became of the deliveries of the last seven days.' });

const delivery = named('Delivery', 'A delivery to a webhook.', {
  id: deliveryId,
  webhook_id: text('The webhook.'),
  event_type: oneOf(Object.keys(notificationEvents), 'The event that it tells of.'),
  request_id: uuid('The request that it is about, if it is about one.').nullable(),
  status,
  attempts: count('How often it was tried.'),
  max_attempts: count('How often it is tried at most.'),
  last_error: lastError,
  created_at: instant('When the event happened.'),
  next_retry_at: instant('When it is tried again; null unless it is pending.').nullable(),
  finished_at: instant('When it ended.').nullable(),
});

const deliveries = named('DeliveryList', 'A page of deliveries, newest first.', {
  deliveries: list(delivery, 'The deliveries of this page.'),
  total: count('How many match, over all pages.'),
  ...pageFields,
});

/** Webhooks and their deliveries (notifications.md section 8). */
export const webhookRoutes: Route[] = [
  route({
    operationId: 'listWebhooks',
    method: 'get',
    path: '/api/webhooks',
    summary: 'List the webhooks',
    tag: 'configuration',
    access: 'workflow.read',
    everywhere: true,
    status: 200,
    response: named('WebhookList', 'The webhooks.', { webhooks: list(webhook, 'In the order of `server.toml`.') }),
    errors: ['auth.forbidden'],
    handle: async (call, services) => ({ webhooks: await listWebhooks(call, services) }),
  }),
  route({
    operationId: 'showWebhook',
    method: 'get',
    path: '/api/webhooks/:id',
    summary: 'Show one webhook and how its deliveries went',
    tag: 'configuration',
    access: 'workflow.read',
    everywhere: true,
    params,
    status: 200,
    response: named('WebhookDetails', 'A webhook and how its deliveries went.', { ...fields, deliveries: counts }),
    errors: ['auth.forbidden', 'webhook.not_found'],
    handle: showWebhook,
  }),
  route({
    operationId: 'testWebhook',
    method: 'post',
    path: '/api/webhooks/:id/test',
    summary: 'Send the event webhook.test to a webhook',
    tag: 'operations',
    access: 'metrics.view',
    params,
    status: 202,
    response: queued,
    errors: ['auth.forbidden', 'webhook.not_found'],
    handle: testWebhook,
  }),
  route({
    operationId: 'listWebhookDeliveries',
    method: 'get',
    path: '/api/webhook-deliveries',
    summary: 'List deliveries to webhooks',
    tag: 'operations',
    access: 'metrics.view',
    query: z.object({
      status: status.optional().meta({ description: 'Only those of this status.' }),
      webhook_id: textParam('Only those to this webhook.', { maxLength: 128 }),
      event_type: choiceParam(Object.keys(notificationEvents), 'Only those of this event.'),
      limit: limitParam(50, 100),
      offset: offsetParam,
    }),
    status: 200,
    response: deliveries,
    errors: ['validation.failed', 'auth.forbidden'],
    handle: showDeliveries,
  }),
  route({
    operationId: 'redeliverWebhookDelivery',
    method: 'post',
    path: '/api/webhook-deliveries/:id/redeliver',
    summary: 'Send an ended delivery again',
    description:
      'It is a new delivery with the same body, and only if the event would go to its webhook today. The audit log says who did it.',
    tag: 'operations',
    access: 'metrics.view',
    params: deliveryParams,
    status: 202,
    response: queued,
    errors: ['auth.forbidden', 'delivery.not_found', 'delivery.conflict'],
    handle: redeliver,
  }),
];
