import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { count } from './numbers.js';

/** `high (multi_statement, large_table: 50,000 rows)`: a level with its factors and their details (SQ-93). */
export function riskText(level: string, factors: readonly JsonText[]): string {
  const named = factors.map(factorText).filter((text) => text !== '');
  return `${visible(level.toLowerCase())}${named.length === 0 ? '' : ` (${named.join(', ')})`}`;
}

function factorText(factor: JsonText): string {
  const name = visible(factor.string() ?? factor.get('name')?.string() ?? '');
  const rows = count(factor.get('rows'));
  const found = count(factor.get('count'));
  const names = ['tables', 'targets', 'names']
    .flatMap((key) => factor.get(key)?.items() ?? [])
    .map((item) => visible(item.string() ?? ''));
  const details = [rows === '' ? '' : `${rows} rows`, found === '' ? '' : `${found} findings`, names.join(' ')].filter(Boolean);
  return details.length === 0 ? name : `${name}: ${details.join(' ')}`;
}
