import {
  type Beginning,
  type Delivery,
  type DeliveryStatus,
  judgeAttempt,
  judgeNoRoom,
} from '../domain/notifications/attempt.js';
import type { Transaction } from './client.js';
import type { IsConfigured } from './configured-webhooks.js';
import { ended } from './webhook-deliveries.js';
import { takeRoom } from './webhook-room.js';

/** The transaction that begins another attempt lasts a few milliseconds. */
const nextTryMs = 250;

export type Begun = Beginning & { delivery: Delivery };

export interface Webhooks {
  isConfigured: (tx: Transaction) => Promise<IsConfigured>;
  isKnown: (webhookId: string) => boolean;
}

/** Begins the next attempt if it may (NT-50, NT-54) and stores that it did; null for an unknown delivery. */
export async function beginAttempt(tx: Transaction, id: string, webhooks: Webhooks): Promise<Begun | null> {
  const found = tx.query<Delivery & { now: number }>(
    `select id, webhook_id as "webhookId", event_type as "eventType", body, status, attempts, next_retry_at as "nextRetryAt",
       attempt_started_at as "attemptStartedAt", (extract(epoch from clock_timestamp()) * 1000)::bigint as now
     from webhook_deliveries where id = $1 for update`,
    [id],
  );
  const [[row], isConfigured] = await Promise.all([found, webhooks.isConfigured(tx)]);
  if (row === undefined) return null;
  const { now, ...delivery } = row;
  const { webhookId } = delivery;
  const known = { isConfigured: isConfigured(webhookId), isKnown: webhooks.isKnown(webhookId) };
  const judged = await withRoom(tx, delivery, now, judgeAttempt(delivery, now, known));
  const set = assignments(judged);
  if (set !== null) tx.send(`update webhook_deliveries set ${set.text} where id = $1`, [id, ...set.values]);
  return { ...judged, delivery };
}

async function withRoom(tx: Transaction, delivery: Delivery, now: number, judged: Beginning): Promise<Beginning> {
  if (judged.kind !== 'begin') return judged;
  const room = await takeRoom(tx, delivery.webhookId);
  if (room.kind === 'none') return judgeNoRoom(delivery, now, room.ms);
  return room.kind === 'free'
    ? judged
    : { kind: 'wait', ms: nextTryMs * (0.5 + Math.random()), reason: 'another attempt begins' };
}

function assignments(judged: Beginning): { text: string; values: unknown[] } | null {
  switch (judged.kind) {
    case 'cancelled':
      return { text: ended('cancelled'), values: [] };
    case 'dead':
      return { text: `${ended('dead')}, last_error = coalesce($2, last_error)`, values: [judged.error] };
    case 'begin':
      return {
        text: `status = 'in_progress', next_retry_at = null, attempts = $2, attempt_started_at = clock_timestamp()`,
        values: [judged.attempt],
      };
    case 'busy':
      return {
        text: `status = 'pending', next_retry_at = clock_timestamp() + $2::bigint * interval '1 millisecond',
          attempt_started_at = to_timestamp($3::bigint / 1000.0)`,
        values: [judged.ms, judged.since],
      };
    case 'elsewhere':
      // Its next look is stored, or the keeper would take it for lost each minute. The time until it is known does not count as without room.
      return {
        text: `status = 'pending', next_retry_at = clock_timestamp() + $2::bigint * interval '1 millisecond', attempt_started_at = null`,
        values: [judged.ms],
      };
    default:
      return null;
  }
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
