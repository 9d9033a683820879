import { maxAttempts } from './schedule.js';

/** The rules of a delivery's attempts (NT-50, NT-52, NT-54). Instants are milliseconds since the epoch. */
export type DeliveryStatus = 'pending' | 'in_progress' | 'delivered' | 'dead' | 'cancelled';

export interface Delivery {
  id: string;
  webhookId: string;
  eventType: string;
  body: string;
  status: DeliveryStatus;
  attempts: number;
  /** Null unless pending. */
  nextRetryAt: number | null;
  /** Of the last attempt; before the first, since when the webhook had no room for it. */
  attemptStartedAt: number | null;
}

/** What the webhook is busy with. */
export interface WebhookLoad {
  /** Attempts that run now. */
  running: number;
  /** How long the oldest of them has run; 0 if none does. */
  oldestMs: number;
  /** Deliveries whose attempt is due. */
  due: number;
}

/** What the receiver answered, or why it did not. */
export type Outcome =
  | { delivered: true; status: number }
  /** `error` is a short class (NT-53). */
  | { delivered: false; status: number | null; error: string; retryAfter: string | null };

export type Beginning =
  | { kind: 'begin'; attempt: number }
  | { kind: 'wait'; ms: number; reason: 'not due yet' | 'another attempt begins' }
  /** It is due, but this process cannot send to its webhook. */
  | { kind: 'elsewhere'; ms: number }
  /** There is no room, since `since`. */
  | { kind: 'busy'; ms: number; since: number }
  /** `error` is null if the process that made the last attempt has died. */
  | { kind: 'dead'; error: 'webhook busy' | null }
  | { kind: 'cancelled' }
  | { kind: 'ended'; status: DeliveryStatus };

const MAX_RUNNING = 8;
/** The longest attempt (NT-30). */
export const ATTEMPT_MS = 10_000;
/** No attempt still runs so long after its start: the process that ran it has died. */
export const ATTEMPT_IS_OVER_MS = ATTEMPT_MS + 5000;
const waitMs = { least: 250, most: 300_000 };
const elsewhereMs = 5000;
/** About as long as a receiver that refuses at once is tried (NT-50). */
const roomWithinMs = 5 * 3_600_000;
/** Later than this comes no look of a worker that was there: it, or Temporal, was away. */
const awayMs = 3_600_000;

/** What a process knows of a delivery's webhook. */
export interface WebhookKnown {
  /** The generation in force has it. */
  isConfigured: boolean;
  /** This process's own file has it (CF-31). */
  isKnown: boolean;
}

/** Whether an attempt may begin at `now`. */
export function judgeAttempt(delivery: Delivery, now: number, { isConfigured, isKnown }: WebhookKnown): Beginning {
  const { status, attempts, nextRetryAt, attemptStartedAt } = delivery;
  if (status !== 'pending' && status !== 'in_progress') return { kind: 'ended', status };
  if (!isConfigured) return { kind: 'cancelled' };
  const notBefore = status === 'pending' ? (nextRetryAt ?? now) : (attemptStartedAt ?? 0) + ATTEMPT_IS_OVER_MS;
  if (now < notBefore) return { kind: 'wait', ms: notBefore - now, reason: 'not due yet' };
  if (!isKnown) return { kind: 'elsewhere', ms: elsewhereMs };
  return attempts >= maxAttempts ? { kind: 'dead', error: null } : { kind: 'begin', attempt: attempts + 1 };
}

/** What becomes of a due delivery whose webhook has no room for `ms` (NT-54). */
export function judgeNoRoom(delivery: Delivery, now: number, ms: number): Beginning {
  const since = noRoomSince(delivery, now);
  return now - since > roomWithinMs ? { kind: 'dead', error: 'webhook busy' } : { kind: 'busy', ms, since };
}

/** The time while nobody looked does not count, or an outage of ours would end what waits. */
function noRoomSince({ nextRetryAt, attemptStartedAt }: Delivery, now: number): number {
  const due = nextRetryAt ?? (attemptStartedAt ?? now) + ATTEMPT_IS_OVER_MS;
  const wasAway = now - due > awayMs;
  return wasAway ? now : (attemptStartedAt ?? now);
}

/** When a due delivery should ask again, if the webhook has no room for it: about when those before it are through. Null if it has room. */
export function waitForRoom({ running, oldestMs, due }: WebhookLoad, random: number): number | null {
  if (running < MAX_RUNNING) return null;
  const turns = Math.ceil(due / MAX_RUNNING);
  const ms = turns * Math.min(ATTEMPT_MS, 2 * oldestMs) * (0.5 + random);
  return Math.round(Math.min(waitMs.most, Math.max(waitMs.least, ms)));
}

/** The id of a delivery as callers and receivers see it. */
export const deliveryName = (id: string): string => `wd-${id}`;
