import {
  ATTEMPT_IS_OVER_MS,
  type Beginning,
  type Delivery,
  type DeliveryStatus,
  judgeAttempt,
  type WebhookLoad,
  waitForRoom,
} from '../domain/notifications/attempt.js';
import type { Transaction } from './client.js';
import { ended } from './webhook-deliveries.js';

export type Begun = Beginning & { delivery: Delivery };

/** Begins the next attempt if it may (NT-50, NT-54) and stores that it did; null for an unknown delivery. */
export async function beginAttempt(tx: Transaction, id: string, isKnown: (webhookId: string) => boolean): Promise<Begun | null> {
  const [found] = await tx.query<Delivery & { now: number }>(
    `select id, webhook_id as "webhookId", event_type as "eventType", body, status, attempts, next_retry_at as "nextRetryAt",
       attempt_started_at as "attemptStartedAt", (extract(epoch from clock_timestamp()) * 1000)::bigint as now
     from webhook_deliveries where id = $1 for update`,
    [id],
  );
  if (found === undefined) return null;
  const { now, ...delivery } = found;
  const judged = await withRoom(tx, delivery, judgeAttempt(delivery, now, isKnown(delivery.webhookId)));
  const set = assignments(judged);
  if (set !== null) tx.send(`update webhook_deliveries set ${set.text} where id = $1`, [id, ...set.values]);
  return { ...judged, delivery };
}

/** Attempts of one webhook begin one at a time, so that no two take its last room. */
async function withRoom(tx: Transaction, { webhookId }: Delivery, judged: Beginning): Promise<Beginning> {
  if (judged.kind !== 'begin') return judged;
  await tx.query('select pg_advisory_xact_lock(hashtext($1), hashtext($2))', ['svc webhook', webhookId]);
  const [load] = await tx.query<WebhookLoad>(
    `select count(*) filter (where status = 'in_progress') as running,
       coalesce(max(extract(epoch from clock_timestamp() - attempt_started_at) * 1000) filter (where status = 'in_progress'), 0)::bigint as "oldestMs",
       count(*) filter (where status = 'pending') as due
     from (select status, attempt_started_at from webhook_deliveries
       where webhook_id = $1 and finished_at is null and (status = 'pending' and next_retry_at <= clock_timestamp() + interval '1 minute'
         or status = 'in_progress' and attempt_started_at > clock_timestamp() - $2::int * interval '1 millisecond') limit 5000) as open`,
    [webhookId, ATTEMPT_IS_OVER_MS],
  );
  const ms = load === undefined ? null : waitForRoom(load, Math.random());
  return ms === null ? judged : { kind: 'wait', ms, reason: 'the webhook is busy' };
}

function assignments(judged: Beginning): { text: string; values: unknown[] } | null {
  if (judged.kind === 'dead') return { text: ended('dead'), values: [] };
  if (judged.kind === 'begin')
    return {
      text: `status = 'in_progress', next_retry_at = null, attempts = $2, attempt_started_at = clock_timestamp()`,
      values: [judged.attempt],
    };
  if (judged.kind === 'wait' && judged.reason === 'the webhook is busy')
    return {
      text: `status = 'pending', next_retry_at = clock_timestamp() + $2::bigint * interval '1 millisecond'`,
      values: [judged.ms],
    };
  return null;
}

export type AttemptEnd =
  | { kind: 'delivered' }
  /** `ms` until the next attempt; null if this was the last. */
  | { kind: 'failed'; error: string; ms: number | null };

/**
 * Stores how the attempt ended. A success counts for a delivery in any open state; a failure only if no later attempt has begun. Returns the status that
 * is stored then.
 */
export async function endAttempt(tx: Transaction, id: string, attempt: number, end: AttemptEnd): Promise<DeliveryStatus | null> {
  const { text, values } = endStatement(end);
  await tx.query(text, [id, ...(end.kind === 'failed' ? [attempt] : []), ...values]);
  const [row] = await tx.query<{ status: DeliveryStatus }>('select status from webhook_deliveries where id = $1', [id]);
  return row?.status ?? null;
}

function endStatement(end: AttemptEnd): { text: string; values: unknown[] } {
  const update = (set: string, where: string) =>
    `update webhook_deliveries set ${set} where id = $1 and finished_at is null ${where}`;
  if (end.kind === 'delivered') return { text: update(ended('delivered'), ''), values: [] };
  const own = `and status = 'in_progress' and attempts = $2`;
  if (end.ms === null) return { text: update(`${ended('dead')}, last_error = $3`, own), values: [end.error] };
  const retry = `status = 'pending', last_error = $3, next_retry_at = clock_timestamp() + $4::bigint * interval '1 millisecond'`;
  return { text: update(retry, own), values: [end.error, end.ms] };
}
