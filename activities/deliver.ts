import type { Database } from '../db/client.js';
import { followConfiguredWebhooks } from '../db/configured-webhooks.js';
import { type AttemptEnd, beginAttempt, endAttempt } from '../db/delivery-attempts.js';
import type { Delivery, Outcome } from '../domain/notifications/attempt.js';
import { maxAttempts } from '../domain/notifications/schedule.js';
import { isUuid } from '../lib/uuid.js';
import type { DeliverActivities } from '../workflows/messages.js';
import { later, stored } from './retried.js';

export interface DeliverOptions {
  database: Database;
  /** Whether this process can send to the webhook (CF-31). */
  isKnown: (webhookId: string) => boolean;
  /** Makes one attempt, within `ATTEMPT_MS`. Never rejects. */
  send: (delivery: Delivery) => Promise<Outcome>;
  /** Milliseconds from the failed attempt of this number until the next; null after the last (NT-50, NT-51). */
  nextAttemptMs: (attempt: number, outcome: Outcome & { delivered: false }) => number | null;
  /** Called with each end of an attempt or a delivery. */
  onEnd?: (end: 'delivered' | 'retried' | 'dead' | 'cancelled') => void;
  /** Called with the reason of a failure of ours. Temporal does not learn it. */
  onFailure?: (error: unknown) => void;
}

/** Makes the attempts of deliveries (section 7 of the rules of notifications). The stored row decides; Temporal brings it here when it is due. */
export function createDeliver(options: DeliverOptions): DeliverActivities {
  const { database, isKnown, onEnd } = options;
  const webhooks = { isConfigured: followConfiguredWebhooks(), isKnown };
  return {
    async deliver(id) {
      if (!isUuid(id)) return 'not_stored';
      const begun = await stored(
        options.onFailure,
        () => database.transaction((tx) => beginAttempt(tx, id, webhooks)),
        afterTroubleMs(),
      );
      if (begun === null) return 'not_stored';
      switch (begun.kind) {
        case 'ended':
          return begun.status;
        case 'dead':
        case 'cancelled':
          onEnd?.(begun.kind);
          return begun.kind;
        case 'wait':
          throw later(begun.reason, begun.ms);
        case 'busy':
          throw later('the webhook is busy', begun.ms);
        case 'elsewhere':
          throw later('this worker does not know the webhook', begun.ms);
        case 'begin':
          return attempt(options, begun.delivery, begun.attempt);
      }
    },
  };
}

/** Up to the minute of NT-52: asking at once again would keep a database busy that is slow because so many ask. */
const afterTroubleMs = () => 30_000 * (1 + Math.random());

async function attempt(options: DeliverOptions, delivery: Delivery, number: number): Promise<string> {
  const outcome = await options.send(delivery);
  const end: AttemptEnd = outcome.delivered
    ? { kind: 'delivered' }
    : { kind: 'failed', error: outcome.error, ms: options.nextAttemptMs(number, outcome) };
  const status = await stored(
    options.onFailure,
    () => options.database.transaction((tx) => endAttempt(tx, delivery.id, number, end)),
    afterTroubleMs(),
  );
  options.onEnd?.(end.kind === 'delivered' ? 'delivered' : end.ms === null ? 'dead' : 'retried');
  if (end.kind === 'failed' && end.ms !== null && (status === 'pending' || status === 'in_progress'))
    throw later(`attempt ${number} of ${maxAttempts}: ${end.error}`, end.ms);
  return status ?? 'not_stored';
}
