const form = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/;
const daysIn = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The years 0000 to 9999. What lies outside has more digits or a sign, so that it would not compare as text, and PostgreSQL does not read it. */
const earliestInstant = Date.UTC(-1, 12);
export const latestInstant = Date.UTC(9999, 12) - 1;

/**
 * HT-74: an RFC 3339 time with an offset, as milliseconds since the epoch, truncated to the millisecond; null for anything else. An offset that leads
 * out of the years that can be written ends with them.
 */
export function parseInstant(text: string): number | null {
  const parts = form.exec(text);
  if (parts === null) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month < 1 || month > 12 || day < 1 || day > (daysIn[month - 1] ?? 0) || (month === 2 && day === 29 && !leap)) return null;
  if (hour > 23 || minute > 59 || second > 59) return null;
  const offsetMinutes = offsetOf(parts[8] ?? '');
  if (offsetMinutes === null) return null;
  const fraction = Math.floor(Number(`0${parts[7] ?? ''}`) * 1000);
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  const whole = new Date(Date.UTC(2000, month - 1, day, hour, minute, second, fraction)).setUTCFullYear(year);
  return Math.min(latestInstant, Math.max(earliestInstant, whole - offsetMinutes * 60_000));
}

/**
 * The same time in UTC with six fraction digits, the form that audit events are written in (AU-1), so that both compare as texts; null for anything
 * else.
 */
export function parseInstantText(text: string): string | null {
  const ms = parseInstant(text);
  if (ms === null) return null;
  const belowMs = (form.exec(text)?.[7] ?? '').slice(4, 7).padEnd(3, '0');
  return `${new Date(ms).toISOString().slice(0, -1)}${belowMs}Z`;
}

function offsetOf(text: string): number | null {
  if (text === 'Z' || text === 'z') return 0;
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(4))];
  if (hours > 23 || minutes > 59) return null;
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
