import { withCommas } from '../../lib/counts.js';
import type { JsonText } from '../../lib/json/read.js';

/** The digits of a number as the server wrote them; what is none could steer a terminal. */
export function digits(value: JsonText | undefined): string | undefined {
  return value?.kind === 'number' ? value.text : undefined;
}

/** A count with thousands separators; empty when it is absent, negative (unknown) or not a number. */
export function count(value: JsonText | undefined): string {
  const number = Number(value?.kind === 'number' ? value.text : -1);
  return Number.isFinite(number) && number >= 0 ? withCommas(number) : '';
}
