import { sleep } from '../lib/sleep.js';
import { type ExchangeAnswer, NoAnswer } from './exchange.js';
import type { Limits } from './terminal.js';

type Attempt = (isAgain: boolean) => Promise<ExchangeAnswer>;

export interface Tries {
  most: number;
  /** Goes on for `limits.awayMs` after the first failure instead, and is told why once that is more than a moment. */
  onAway: ((reason: string) => void) | null;
  limits: Limits;
  signal: AbortSignal;
}

/** Repeats after a failed or broken connection, 502, 503 and 504, and after 429 when its `Retry-After` has passed (CL-10, CL-22a). */
export async function repeated(attempt: Attempt, tries: Tries): Promise<ExchangeAnswer> {
  const { most, onAway, limits, signal } = tries;
  let failedAt: number | null = null;
  for (let tried = 1; ; tried += 1) {
    const outcome = await outcomeOf(attempt, tried > 1);
    const trouble = troubleOf(outcome, limits, onAway !== null);
    if (trouble === null) return settled(outcome);
    failedAt ??= performance.now();
    const leftMs = limits.awayMs - (performance.now() - failedAt);
    if (onAway === null ? tried >= most : leftMs <= 0) return settled(outcome);
    if (tried >= most || trouble.isLong) onAway?.(trouble.reason);
    const pauseMs = trouble.pauseMs ?? growing(tried, limits);
    await sleep(onAway === null ? pauseMs : Math.min(pauseMs, leftMs), signal);
    signal.throwIfAborted();
  }
}

/** What one try came to: an answer, or why there is none. */
type Outcome = ExchangeAnswer | NoAnswer;

async function outcomeOf(attempt: Attempt, isAgain: boolean): Promise<Outcome> {
  try {
    return await attempt(isAgain);
  } catch (error) {
    if (error instanceof NoAnswer) return error;
    throw error;
  }
}

function settled(outcome: Outcome): ExchangeAnswer {
  if (outcome instanceof NoAnswer) throw outcome;
  return outcome;
}

interface Trouble {
  reason: string;
  /** The try took the whole time of the call, or the server asks for a pause. */
  isLong: boolean;
  /** As the server asks; null if it does not. */
  pauseMs: number | null;
}

/** What may be over at the next try; null for every other outcome. Whoever waits also tries again what came too late. */
function troubleOf(outcome: Outcome, limits: Limits, isWaiting: boolean): Trouble | null {
  if (outcome instanceof NoAnswer) {
    const isPassing = outcome.isConnection || (isWaiting && outcome.isLate);
    return isPassing ? { reason: outcome.message, isLong: outcome.isLate, pauseMs: null } : null;
  }
  const { status, headers } = outcome;
  if (!isBusy(status)) return null;
  const askedMs = Number(headers['retry-after'] ?? Number.NaN) * 1000;
  if (status === 429 && askedMs > limits.retryAfterMaxMs) return null;
  const pauseMs = Number.isFinite(askedMs) ? Math.min(askedMs, limits.retryAfterMaxMs) : null;
  return { reason: `it answers ${status}`, isLong: pauseMs !== null, pauseMs };
}

const isBusy = (status: number) => [429, 502, 503, 504].includes(status);

/** Spread from the third pause on: a server that restarts ends all waits at the same moment. */
function growing(tried: number, { retryPauseMs, awayPauseMs }: Limits): number {
  const pauseMs = Math.min(retryPauseMs * 2 ** (tried - 1), awayPauseMs);
  return tried < 3 ? pauseMs : pauseMs * (0.5 + Math.random() / 2);
}
