import { withCommas } from '../../lib/counts.js';
import type { JsonText } from '../../lib/json/read.js';

/** A count with thousands separators; empty when it is absent, negative (unknown) or not a number. */
export function count(value: JsonText | undefined): string {
  const number = Number(value?.kind === 'number' ? value.text : -1);
  return Number.isFinite(number) && number >= 0 ? withCommas(number) : '';
}
