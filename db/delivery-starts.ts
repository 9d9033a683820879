import type { Queryable, Transaction } from './client.js';
import { topic } from './notifications.js';

/** A delivery whose workflow is to be started, or told of its cancel. */
export interface UntoldDelivery {
  id: string;
  webhookId: string;
  eventType: string;
  cancelled: boolean;
}

/** Takes up to `limit` deliveries that Temporal does not know of for ten seconds, oldest first. Several workers take different ones. */
export function takeUntold(db: Queryable, limit: number): Promise<UntoldDelivery[]> {
  return db.query<UntoldDelivery>(
    `update webhook_deliveries d set taken_until = clock_timestamp() + interval '10 seconds'
     from (select id from webhook_deliveries where not told and (taken_until is null or taken_until < clock_timestamp())
       order by yields, created_at limit $1 for update skip locked) as due
     where d.id = due.id
     returning d.id, d.webhook_id as "webhookId", d.event_type as "eventType", d.status = 'cancelled' as cancelled`,
    [limit],
  );
}

/** Once Temporal has accepted them. A delivery that was cancelled since stays untold. */
export async function markTold(db: Queryable, deliveries: readonly UntoldDelivery[]): Promise<void> {
  await db.query(
    `update webhook_deliveries d set told = true, taken_until = null
     from unnest($1::uuid[], $2::boolean[]) as known(id, cancelled) where d.id = known.id and (d.status = 'cancelled') = known.cancelled`,
    [deliveries.map(({ id }) => id), deliveries.map(({ cancelled }) => cancelled)],
  );
}

/** What Temporal did not accept is taken again after the pause. */
export async function returnUntold(db: Queryable, ids: readonly string[], pauseMs: number): Promise<void> {
  await db.query(
    `update webhook_deliveries set taken_until = clock_timestamp() + $2::int * interval '1 millisecond' where id = any($1::uuid[]) and not told`,
    [ids, pauseMs],
  );
}

/** Tells Temporal again of deliveries that no workflow has carried on for `graceMs`: it has lost them. Returns how many. */
export async function retellOverdue(tx: Transaction, graceMs: number, limit: number): Promise<number> {
  const rows = await tx.query(
    `update webhook_deliveries set told = false where id in (
       select id from webhook_deliveries where finished_at is null and told
         and coalesce(next_retry_at, attempt_started_at) < clock_timestamp() - $1::int * interval '1 millisecond'
       order by coalesce(next_retry_at, attempt_started_at) limit $2)
     returning 1 as one`,
    [graceMs, limit],
  );
  if (rows.length > 0) tx.wake(topic.deliveries);
  return rows.length;
}
