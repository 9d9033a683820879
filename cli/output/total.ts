import { withCommas } from '../../lib/counts.js';
import type { JsonText } from '../../lib/json/read.js';
import { digits } from './numbers.js';

/** The total of a list's answer. An estimate is rounded to two digits, so that nobody takes it for a count: `about 1,200,000`. */
export function totalOf(page: JsonText): string | undefined {
  const total = digits(page.get('total'));
  if (page.get('total_is_estimate')?.text !== 'true') return total;
  if (total === undefined) return undefined;
  return `about ${withCommas(Number(Number(total).toPrecision(2)))}`;
}
