import { compactJson, type JsonText } from '../../lib/json/read.js';
import { showInstant } from './instant.js';
import type { Style } from './style.js';
import { visible } from './visible.js';

/** The members of an object, one per line, label padded; absent and null ones are left out. */
export function renderDetails(object: JsonText, rows: readonly (readonly [label: string, key: string])[], style: Style): string {
  const present = rows.flatMap(([label, key]) => {
    const text = showValue(object.get(key));
    return text === '' ? [] : [[label, text] as const];
  });
  const width = Math.max(0, ...present.map(([label]) => label.length)) + 2;
  return present.map(([label, text]) => `${style.dim(label.padEnd(width))}${text}\n`).join('');
}

/** A value for a table or a detail line: names joined, instants readable, other values compact JSON, null nothing. */
export function showValue(value: JsonText | undefined): string {
  if (value === undefined || value.kind === 'null') return '';
  if (value.kind === 'array') return value.items().map(showName).join(', ');
  const text = value.string();
  return text === null ? visible(compactJson(value.text)) : showInstant(visible(text));
}

function showName(item: JsonText): string {
  return visible(item.string() ?? item.get('name')?.string() ?? compactJson(item.text));
}
