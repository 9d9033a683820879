import { z } from 'zod';
import { limitParam, offsetParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { listWebhooks, redeliver, showDeliveries, showWebhook, testWebhook } from './show.js';

const text = z.string();
const count = z.number().int();
const params = z.object({ id: text });
const status = z.enum(['pending', 'in_progress', 'delivered', 'dead', 'cancelled']);
const queued = z.object({ delivery_id: text });

const webhook = z.object({
  id: text,
  url: text.nullable(),
  events: z.array(text),
  format: z.enum(['generic', 'slack']),
  secret: text.nullable(),
  status: z.literal('active'),
  created_at: text,
  updated_at: text,
});

const counts = z.object({
  pending: count,
  in_progress: count,
  delivered: count,
  dead: count,
  cancelled: count,
  last_delivered_at: text.nullable(),
  last_error: text.nullable(),
});

const delivery = z.object({
  id: text,
  webhook_id: text,
  event_type: text,
  request_id: text.nullable(),
  status,
  attempts: count,
  max_attempts: count,
  last_error: text.nullable(),
  created_at: text,
  next_retry_at: text.nullable(),
  finished_at: text.nullable(),
});

/** Webhooks and their deliveries (section 8 of notifications.md). */
export const webhookRoutes: Route[] = [
  route({
    operationId: 'listWebhooks',
    method: 'get',
    path: '/api/webhooks',
    summary: 'List the webhooks, in the order of server.toml',
    tag: 'configuration',
    access: 'workflow.read',
    status: 200,
    response: z.object({ webhooks: z.array(webhook) }),
    errors: ['auth.forbidden'],
    handle: async (call, services) => ({ webhooks: await listWebhooks(call, services) }),
  }),
  route({
    operationId: 'showWebhook',
    method: 'get',
    path: '/api/webhooks/:id',
    summary: 'Show one webhook, with what became of its deliveries of the last seven days',
    tag: 'configuration',
    access: 'workflow.read',
    params,
    status: 200,
    response: webhook.extend({ deliveries: counts }),
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
    summary: 'List deliveries to webhooks, newest first',
    tag: 'operations',
    access: 'metrics.view',
    query: z.object({
      status: status.optional(),
      webhook_id: textParam,
      event_type: textParam,
      limit: limitParam(50, 100),
      offset: offsetParam,
    }),
    status: 200,
    response: z.object({ deliveries: z.array(delivery), total: count, limit: count, offset: count }),
    errors: ['validation.failed', 'auth.forbidden'],
    handle: showDeliveries,
  }),
  route({
    operationId: 'redeliverWebhookDelivery',
    method: 'post',
    path: '/api/webhook-deliveries/:id/redeliver',
    summary: 'Send an ended delivery again, as a new one with the same body',
    tag: 'operations',
    access: 'metrics.view',
    params,
    status: 202,
    response: queued,
    errors: ['auth.forbidden', 'delivery.not_found', 'delivery.conflict', 'webhook.not_found'],
    handle: redeliver,
  }),
];
