import { relative, shortDuration } from '../../lib/duration.js';

const longestRelativeMs = 30 * 86_400_000;

/** `3 min ago`, `in 2 h`; the day when it is more than 30 days away (CO-31). */
export function whenText(instant: string, now: number): string {
  const at = Date.parse(instant);
  if (Number.isNaN(at)) return instant;
  const distance = at - now;
  if (Math.abs(distance) > longestRelativeMs) return instant.slice(0, 10);
  return relative(distance, shortDuration);
}

/** The exact local time and UTC, for who wants to know. */
export function exactText(instant: string, locale?: string, timeZone?: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  const local = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'long',
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(at);
  return `${local}, ${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
