import { memberSpan } from './scan.js';
import { unescapeInPlace } from './string.js';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const quote = 0x22;
const emptyString = new TextEncoder().encode('""');

/** The text of a top-level member exactly as it stands in a JSON object that has been parsed before; the last one of that name (HT-49). Null when there is none. */
export function memberText(object: Uint8Array, key: string): string | null {
  const value = memberSpan(object, key);
  return value && utf8.decode(object.subarray(value.from, value.to));
}

/**
 * Takes the string that counts as the member `key` out of a JSON object in UTF-8: `taken` is its text as UTF-8 (AG-50a), `rest` the object with `""`
 * in its place, valid JSON exactly when the whole is. `taken` is null, and `rest` the whole, when there is no such string. The bytes given are written over.
 */
export function takeString(object: Uint8Array, key: string): { rest: Uint8Array; taken: Uint8Array | null } {
  const value = memberSpan(object, key);
  if (value === null || object[value.from] !== quote) return { rest: object, taken: null };
  const rest = Buffer.concat([object.subarray(0, value.from), emptyString, object.subarray(value.to)]);
  return { rest, taken: unescapeInPlace(object, value.from + 1, value.to - 1) };
}
