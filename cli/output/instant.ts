import { relative, shortDuration, showDuration } from '../../lib/duration.js';
import type { Style } from './style.js';

/** Formats an RFC 3339 instant: `2026-05-01 09:15:30 UTC`; returns any other text unchanged. For sentences. */
export function showInstant(text: string): string {
  const parts = rfc3339.exec(text);
  return parts ? `${parts[1]} ${parts[2]} UTC` : text;
}

/** For a line of a log: on a terminal as in a sentence, elsewhere as it came, for scripts. */
export const logInstant = (text: string, style: Style): string => (style.isTerminal ? showInstant(text) : text);

/**
 * For a table: on a terminal `3 min ago`, `in 2 h`, and the day when it is more than 30 days away; elsewhere as it came. Returns any
 * other text unchanged.
 */
export function tableInstant(text: string, style: Style): string {
  const parts = rfc3339.exec(text);
  const distance = Date.parse(text) - style.now();
  if (!style.isTerminal || parts === null || Number.isNaN(distance)) return text;
  return Math.abs(distance) > longestRelativeMs ? parts[1]! : relative(distance, shortDuration);
}

/** For a page of details: on a terminal `2026-05-01 09:15:30 UTC (3 min 5 s ago)`, elsewhere as it came. */
export function detailInstant(text: string, style: Style): string {
  const distance = Date.parse(text) - style.now();
  if (!style.isTerminal || !rfc3339.test(text) || Number.isNaN(distance)) return text;
  return `${showInstant(text)} (${relative(distance, showDuration)})`;
}

const rfc3339 = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/;

const longestRelativeMs = 30 * 86_400_000;
