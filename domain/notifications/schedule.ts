/** How a failed attempt ended. */
export interface Failure {
  /** Null when no status came: a timeout, a network or an address error. */
  status: number | null;
  /** The header `Retry-After` of the answer. */
  retryAfter: string | null;
}

/** The delay after each failed attempt but the last (NT-50). */
const delaysSecs = [1, 2, 60, 960, 1500, 2160, 2940, 3840, 4860] as const;
export const maxAttempts = delaysSecs.length + 1;

const refusedSecs = 60;
const longestRetryAfterMs = 3_600_000;
// A receiver that answers these with a 4xx may accept the same bytes soon.
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * How long to wait after the failure of attempt `attempts` (1 to 10); null when it was the last and the delivery is dead. `random` is from 0 to below 1 and
 * lengthens the delay by up to a tenth, so that deliveries that failed together do not come back together (NT-50, NT-51). `now` is in milliseconds.
 */
export function nextAttemptMs(attempts: number, failure: Failure, now: number, random: number): number | null {
  const tableSecs = delaysSecs[attempts - 1];
  if (tableSecs === undefined) return null;
  const lengthened = (ms: number) => Math.floor(ms * (1 + random / 10));
  const own = lengthened(1000 * (isRefusal(failure) ? Math.max(tableSecs, refusedSecs) : tableSecs));
  const asked = Math.min(lengthened(askedMs(failure, now)), longestRetryAfterMs);
  return Math.max(own, asked);
}

/** The same bytes would be refused again at once. */
const isRefusal = ({ status }: Failure) => status !== null && status >= 400 && status < 500 && !passing.has(status);

/** What the receiver asks for; 0 when it asks for nothing that can be read. */
function askedMs({ status, retryAfter }: Failure, now: number): number {
  const asks = status === 429 || status === 503;
  return asks && retryAfter !== null ? Math.max(0, retryAfterMs(retryAfter, now) ?? 0) : 0;
}

/** RFC 9110, 10.2.3: seconds, or a date in one of the three forms of HTTP, of which one names no zone. Null for anything else. */
export function retryAfterMs(text: string, now: number): number | null {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!httpDates.some((form) => form.test(text))) return null;
  const at = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? null : at - now;
}

const httpDates = [
  /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]+day, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/,
];
