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

/** The larger unit of a duration: `3 min`, `2 h`. */
export const shortDuration = (milliseconds: number): string => showDuration(milliseconds).split(' ', 2).join(' ');

const rfc3339 = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/;

const longestRelativeMs = 30 * 86_400_000;

/** Clocks of two machines differ by seconds. */
const nowMs = 10_000;

function relative(distance: number, inWords: (milliseconds: number) => string): string {
  if (Math.abs(distance) < nowMs) return 'now';
  return distance < 0 ? `${inWords(-distance)} ago` : `in ${inWords(distance)}`;
}

/** Formats a duration: `40 ms`, `1.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`. */
export function showDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return joined(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  if (seconds < 86_400) return joined(Math.floor(seconds / 3600), 'h', Math.floor((seconds % 3600) / 60), 'min');
  return joined(Math.floor(seconds / 86_400), 'd', Math.floor((seconds % 86_400) / 3600), 'h');
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
