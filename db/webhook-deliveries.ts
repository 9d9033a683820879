import type { NewDelivery } from '../domain/notifications/outgoing.js';
import type { Queryable, Transaction } from './client.js';
import { topic } from './notifications.js';

/** Part of a larger statement, which has the result of `deliveryRows` as a parameter. Nothing is written unless `guard`, a part before it, has a row. */
export const deliveriesInsert = (parameter: string, guard: string): string =>
  `notified as (${insert(parameter)} where exists (select from ${guard}))`;

/** As JSON text. */
export const deliveryRows = (deliveries: readonly NewDelivery[]): string =>
  JSON.stringify(
    deliveries.map(({ id, webhookId, eventType, requestId, body, yields }) => ({
      id,
      body,
      yields,
      webhook_id: webhookId,
      event_type: eventType,
      request_id: requestId,
    })),
  );

export async function insertDeliveries(tx: Transaction, deliveries: readonly NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  await tx.query(insert('$1'), [deliveryRows(deliveries)]);
  tx.wake(topic.deliveries);
}

const insert = (parameter: string) => `insert into webhook_deliveries (id, webhook_id, event_type, request_id, body, yields)
  select id, webhook_id, event_type, request_id, body, yields from jsonb_to_recordset(${parameter}::jsonb)
    as delivery(id uuid, webhook_id text, event_type text, request_id uuid, body text, yields boolean)`;

/**
 * Cancels up to `limit` unfinished deliveries of webhooks outside the list; their workflows are told, after all that is more urgent. Passes over
 * those that are in use. Returns how many.
 */
export async function cancelDeliveriesExcept(tx: Transaction, webhookIds: readonly string[], limit: number): Promise<number> {
  const cancelled = await tx.query(
    `update webhook_deliveries set ${ended('cancelled')}, told = false, yields = true, taken_until = null
     where id in (select id from webhook_deliveries where finished_at is null and webhook_id <> all($1::text[]) limit $2 for update skip locked)
     returning 1 as one`,
    [webhookIds, limit],
  );
  if (cancelled.length > 0) tx.wake(topic.deliveries);
  return cancelled.length;
}

/** Assignments that end a delivery. */
export const ended = (status: 'delivered' | 'dead' | 'cancelled'): string =>
  `status = '${status}', next_retry_at = null, finished_at = clock_timestamp()`;

/** NT-55. Returns how many rows were deleted. */
export async function deleteFinishedDeliveries(db: Queryable, days: number, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from webhook_deliveries where id in (
       select id from webhook_deliveries where finished_at < statement_timestamp() - $1::int * interval '1 day' order by finished_at limit $2)
     returning 1 as one`,
    [days, limit],
  );
  return rows.length;
}
