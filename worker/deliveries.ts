import type { Logger } from 'pino';
import { createDeliver } from '../activities/deliver.js';
import { webhookHeaders } from '../crypto/webhook-signature.js';
import type { Database } from '../db/client.js';
import { type Delivery, deliveryName } from '../domain/notifications/attempt.js';
import { nextAttemptMs } from '../domain/notifications/schedule.js';
import type { Configuration } from '../runtime/configuration.js';
import type { Metrics } from '../runtime/metrics.js';
import { sendWebhook } from '../runtime/webhook-sender.js';
import type { DeliverActivities } from '../workflows/messages.js';
import { describeError } from './temporal-errors.js';

/** Sends deliveries with the URL and the secret that this worker's own file has now (NT-31). */
export function createDeliveries(options: {
  configuration: Pick<Configuration, 'config'>;
  database: Database;
  metrics: Metrics;
  log: Logger;
}): DeliverActivities {
  const { configuration, database, metrics, log } = options;
  const webhookOf = (id: string) => configuration.config().webhooks.find((webhook) => webhook.id === id);
  return createDeliver({
    database,
    isKnown: (id) => webhookOf(id) !== undefined,
    async send({ id, webhookId, eventType, body }: Delivery) {
      const webhook = webhookOf(webhookId);
      if (webhook === undefined) return { delivered: false, status: null, error: 'network error', retryAfter: null };
      const { url, secret } = webhook;
      const headers = webhookHeaders({ event: eventType, deliveryId: deliveryName(id), now: Date.now(), body, secret });
      return sendWebhook({ url, headers, body, allowPrivateNetworks: configuration.config().allowPrivateNetworks });
    },
    nextAttemptMs: (attempt, failure) => nextAttemptMs(attempt, failure, Date.now(), Math.random()),
    onEnd: (status) => metrics.webhookDeliveries.inc({ status }),
    onFailure: (error) => log.warn({ error: describeError(error) }, 'a delivery could not be read or stored; it is tried again'),
  });
}
