import { parseInstant } from '../domain/instant.js';
import { failure } from './failure.js';

export type TimeUse = 'expires' | 'since' | 'until';

/**
 * Converts to RFC 3339 (CL-28): `<n>d`, `<n>h`, `<n>m` from `now` (milliseconds; forward for `expires`, back otherwise),
 * `YYYY-MM-DD` (end of that day in UTC, its start for `since`; `until` to the last microsecond, because events have them), or RFC 3339 with an offset. Anything else is a usage error.
 */
export function parseWhen(text: string, use: TimeUse, now: number): string {
  const relative = /^(\d{1,6})([dhm])$/.exec(text);
  if (relative) {
    const length = Number(relative[1]) * unitMs[relative[2] as keyof typeof unitMs];
    return new Date(use === 'expires' ? now + length : now - length).toISOString();
  }
  const instant = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T${timeOfDay[use]}Z` : text;
  if (parseInstant(instant) === null)
    throw failure(
      'usage',
      `--${use} takes 7d, 12h, 30m, 2026-05-01 or an RFC 3339 time with an offset, not ${JSON.stringify(text)}`,
    );
  return instant;
}

const timeOfDay: Record<TimeUse, string> = { since: '00:00:00', until: '23:59:59.999999', expires: '23:59:59' };

const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000 };
