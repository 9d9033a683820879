/** A call of Slack that failed: Slack's name of the error, and what it asks to wait for. */
export interface SlackFailure {
  error: string;
  retryAfterSecs: number | null;
}

/** What the call was and what came before it. */
export interface FailedCall {
  kind: 'post' | 'update' | 'line';
  /** How many calls in a row have failed before this one. */
  failures: number;
  /** How long they have. */
  failingMs: number;
  /** The channel was joined for this message already. */
  joined: boolean;
}

export type Consequence =
  | { kind: 'retry'; ms: number }
  /** The message is gone: a new one is posted. */
  | { kind: 'post_anew' }
  /** The channel is joined, and the call made again. */
  | { kind: 'join' }
  | { kind: 'give_up' };

const waitMs = { first: 1000, longest: 300_000 };
/** After so long, an outage counts as permanent. */
export const giveUpAfterMs = 24 * 3_600_000;

/**
 * SL-61. Besides Slack's own errors: the client's names for network failures and for answers that are not Slack's, and a process with Slack off while
 * another one asked for the card.
 */
const passing: ReadonlySet<string> = new Set([
  'ratelimited',
  'rate_limited',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'timeout',
  'network_error',
  'invalid_answer',
  'status_429',
  'slack_is_off',
]);

/** With these Slack takes nothing from the gateway, whatever it is (SL-62). */
const ofTheToken: ReadonlySet<string> = new Set(['invalid_auth', 'token_revoked', 'account_inactive', 'not_authed']);

export const refusesToken = (error: string): boolean => ofTheToken.has(error);

/** Whether the same call may succeed later (SL-61). */
export const mayPass = (error: string): boolean => passing.has(error) || /^status_5\d\d$/.test(error);

/** SL-61, SL-62: what follows from a failed call. */
export function afterFailure({ error, retryAfterSecs }: SlackFailure, call: FailedCall): Consequence {
  if (mayPass(error)) {
    if (call.failingMs >= giveUpAfterMs) return { kind: 'give_up' };
    // 2^9 s is above the longest wait; the exponent is bounded because 2^1024 overflows.
    const own = Math.min(waitMs.longest, waitMs.first * 2 ** Math.min(call.failures, 9));
    return { kind: 'retry', ms: Math.min(giveUpAfterMs, Math.max(own, (retryAfterSecs ?? 0) * 1000)) };
  }
  if (error === 'message_not_found' && call.kind === 'update') return { kind: 'post_anew' };
  if (error === 'not_in_channel' && !call.joined) return { kind: 'join' };
  return { kind: 'give_up' };
}
