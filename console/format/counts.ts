import { withCommas } from '../../lib/counts.js';

/** `1 row`, `2 rows`, `4,000 rows`. */
export const counted = (number: number, one: string, many = `${one}s`): string =>
  `${withCommas(number)} ${number === 1 ? one : many}`;

const units = ['bytes', 'KiB', 'MiB', 'GiB'];

export function bytesText(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return power === 0 ? counted(bytes, 'byte') : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
