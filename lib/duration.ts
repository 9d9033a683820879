/** A duration in words: `40 ms`, `1.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`. */
export function showDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return joined(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  if (seconds < 86_400) return joined(Math.floor(seconds / 3600), 'h', Math.floor((seconds % 3600) / 60), 'min');
  return joined(Math.floor(seconds / 86_400), 'd', Math.floor((seconds % 86_400) / 3600), 'h');
}

/** The larger unit of a duration: `3 min`, `2 h`. */
export const shortDuration = (milliseconds: number): string => showDuration(milliseconds).split(' ', 2).join(' ');

/** Clocks of two machines differ by seconds. */
const nowMs = 10_000;

/** `distance` is an instant less the present one: `3 min ago`, `in 2 h`, `now`. */
export function relative(distance: number, inWords: (milliseconds: number) => string): string {
  if (Math.abs(distance) < nowMs) return 'now';
  return distance < 0 ? `${inWords(-distance)} ago` : `in ${inWords(distance)}`;
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
