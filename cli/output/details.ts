import { compactJson, type JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { detailInstant } from './instant.js';
import type { Style } from './style.js';

/** An object's members, one per line, with padded labels; omits absent and null ones. */
export function renderDetails(object: JsonText, rows: readonly (readonly [label: string, key: string])[], style: Style): string {
  const present = rows.flatMap(([label, key]) => {
    const text = detailInstant(showValue(object.get(key)), style);
    return text === '' ? [] : [[label, text] as const];
  });
  const width = Math.max(0, ...present.map(([label]) => label.length)) + 2;
  return present.map(([label, text]) => `${style.dim(label.padEnd(width))}${text}\n`).join('');
}

/** A value for a table or a detail line: names joined, null as nothing, other values as compact JSON. */
export function showValue(value: JsonText | undefined): string {
  if (value === undefined || value.kind === 'null') return '';
  if (value.kind === 'array') return value.items().map(showName).join(', ');
  const text = value.string();
  return visible(text ?? compactJson(value.text));
}

function showName(item: JsonText): string {
  return visible(item.string() ?? item.get('name')?.string() ?? compactJson(item.text));
}
