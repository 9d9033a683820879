import { ATTEMPT_IS_OVER_MS, type WebhookLoad, waitForRoom } from '../domain/notifications/attempt.js';
import type { Transaction } from './client.js';

export type Room =
  | { kind: 'free' }
  /** `ms` until asking again may help. */
  | { kind: 'none'; ms: number }
  /** Another attempt of the webhook is about to begin. */
  | { kind: 'asked' };

/**
 * Whether one more attempt of the webhook may run (NT-54). Those that find room take the last of it one at a time. Nobody waits for the lock, and a full
 * webhook is found without it: a receiver that hangs must not hold the connections that all webhooks share.
 */
export async function takeRoom(tx: Transaction, webhookId: string): Promise<Room> {
  const before = await untilRoomMs(tx, webhookId);
  if (before !== null) return { kind: 'none', ms: before };
  const [lock] = await tx.query<{ taken: boolean }>('select pg_try_advisory_xact_lock(hashtext($1), hashtext($2)) as taken', [
    'svc webhook',
    webhookId,
  ]);
  if (!lock?.taken) return { kind: 'asked' };
  const ms = await untilRoomMs(tx, webhookId);
  return ms === null ? { kind: 'free' } : { kind: 'none', ms };
}

/** Null if there is room. */
async function untilRoomMs(tx: Transaction, webhookId: string): Promise<number | null> {
  const [load] = await tx.query<WebhookLoad>(
    `select count(*) as running,
       coalesce(max(extract(epoch from clock_timestamp() - attempt_started_at) * 1000), 0)::bigint as "oldestMs",
       (select count(*) from (select from webhook_deliveries where webhook_id = $1 and finished_at is null and status = 'pending'
         and next_retry_at <= clock_timestamp() + interval '1 minute' limit 5000) as waiting) as due
     from webhook_deliveries where webhook_id = $1 and finished_at is null and status = 'in_progress'
       and attempt_started_at > clock_timestamp() - $2::int * interval '1 millisecond'`,
    [webhookId, ATTEMPT_IS_OVER_MS],
  );
  return load === undefined ? null : waitForRoom(load, Math.random());
}
