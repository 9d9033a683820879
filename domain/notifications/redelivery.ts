import type { Actor, AuditDraft } from '../audit/draft.js';
import type { Pair } from '../caller.js';
import { type GatewayError, type Reason, refusal } from '../errors.js';
import { isNotificationEvent, notificationEvents } from './events.js';
import { type Routing, routesOf } from './routing.js';

/** A stored delivery. */
export interface Sent {
  webhookId: string;
  eventType: string;
  requestId: string | null;
  body: string;
  /** It has not ended. */
  open: boolean;
  /** Of its request; null without one, and once it is purged. */
  pair: Pair | null;
}

/** Why a delivery is not sent again by this configuration; null if it is (NT-63). */
export function whyNotAgain({ webhookId, eventType: event, open, pair }: Sent, routing: Routing): GatewayError | null {
  const isHere = ({ id }: { id: string }) => id === webhookId;
  if (open) return conflict('not_ended', 'the delivery has not ended', 'wait until it is delivered or dead');
  if (!routing.webhooks.some(isHere))
    return conflict('webhook_removed', 'the webhook of this delivery is no longer configured', null);
  if (isNotificationEvent(event)) {
    if (notificationEvents[event].request && pair === null)
      return conflict(
        'request_purged',
        'the request of this delivery is no longer stored',
        'so nothing says who may get its text',
      );
    if (routesOf(routing, { event, request: pair }).webhooks.some(isHere)) return null;
  }
  return conflict(
    'not_routed',
    'this event no longer goes to the webhook of this delivery',
    'the notification policy or the events of the webhook have changed',
  );
}

const conflict = (reason: Reason, message: string, hint: string | null) => refusal('delivery.conflict', message, hint, reason);

/**
 * The event of a delivery sent again, by the ids that the API shows. The request is named in the metadata only: evidence takes every event with a
 * `request_id` for a step of the request's way (AU-84).
 */
export const redelivered = (
  actor: Actor,
  { webhookId, eventType, requestId }: Sent,
  { id, formerId }: { id: string; formerId: string },
): AuditDraft => ({
  type: 'webhook.redelivered',
  outcome: 'success',
  actor,
  resourceType: 'delivery',
  resourceId: id,
  reason: null,
  metadata: {
    webhook_id: webhookId,
    event_type: eventType,
    former_delivery_id: formerId,
    ...(requestId === null ? {} : { request_id: requestId }),
  },
});
