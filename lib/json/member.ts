import { memberSpan } from './scan.js';
import { unescapeInPlace } from './string.js';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const quote = 0x22;
const emptyString = new TextEncoder().encode('""');

/**
 * The text of a top-level member, byte for byte, in a JSON object that was parsed before; of several, the last (HT-49). Null if
 * there is none.
 */
export function memberText(object: Uint8Array, key: string): string | null {
  const value = memberSpan(object, key);
  return value && utf8.decode(object.subarray(value.from, value.to));
}

/**
 * Takes the string that counts as the member `key` out of a JSON object in UTF-8. `taken` is its text as UTF-8 (AG-50a). `rest`
 * is the object with `""` in its place, which is valid JSON exactly if the whole is. Without such a string, `taken` is null and
 * `rest` the whole. Overwrites the given bytes.
 */
export function takeString(object: Uint8Array, key: string): { rest: Uint8Array; taken: Uint8Array | null } {
  const value = memberSpan(object, key);
  if (value === null || object[value.from] !== quote) return { rest: object, taken: null };
  const rest = Buffer.concat([object.subarray(0, value.from), emptyString, object.subarray(value.to)]);
  return { rest, taken: unescapeInPlace(object, value.from + 1, value.to - 1) };
}
