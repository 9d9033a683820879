import { utf8 } from '../utf8.js';
import { unitAt } from './string.js';

/** A piece of bytes; `to` is the place after it. */
export interface Span {
  from: number;
  to: number;
}

/**
 * Where the value of a top-level member stands in a JSON object in UTF-8; of several, the last (HT-49). `key` is ASCII without quotes and
 * backslashes. Null if there is none. In bytes that are not JSON it may be a part that is.
 */
export function memberSpan(bytes: Uint8Array, key: string): Span | null {
  const open = openBrackets();
  let found: Span | null = null;
  let at = skipBlank(bytes, 0);
  if (bytes[at] !== brace) return null;
  do {
    const start = skipBlank(bytes, at + 1);
    const after = skipKey(bytes, start);
    if (after < 0) return found;
    const from = skipBlank(bytes, after);
    const to = skipValue(bytes, from, open);
    if (to < 0) return found;
    if (isKey(bytes, start, key)) found = { from, to };
    at = skipBlank(bytes, to);
  } while (bytes[at] === comma);
  return found;
}

/** Whether the bytes (UTF-8) are one JSON text (RFC 8259). Builds nothing, so that a large text costs no memory. */
export function isJsonText(bytes: Uint8Array): boolean {
  const end = skipValue(bytes, skipBlank(bytes, 0), openBrackets());
  return end >= 0 && skipBlank(bytes, end) === bytes.length;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const bracket = 0x5b;
const backslash = 0x5c;
const letterU = 0x75;
/** Each bracket is closed by the character two further on. */
const brace = 0x7b;
/** By first letter. */
const words = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), utf8(word)]));
const escapable = new Set(utf8('"\\/bfnrt'));

/** Whether the key that begins at `from` is that name, in any spelling. */
function isKey(bytes: Uint8Array, from: number, name: string): boolean {
  let at = from + 1;
  for (let index = 0; index < name.length; index += 1) {
    const escaped = bytes[at] === backslash && bytes[at + 1] === letterU;
    if ((escaped ? unitAt(bytes, at) : bytes[at]) !== name.charCodeAt(index)) return false;
    at += escaped ? 6 : 1;
  }
  return bytes[at] === quote;
}

/**
 * The place after the value that begins at `from`, or -1 if there is none, as for all below. `open` is empty before and after.
 */
function skipValue(bytes: Uint8Array, from: number, open: ReturnType<typeof openBrackets>): number {
  let at = from;
  for (;;) {
    at = skipBlank(bytes, at);
    const first = bytes[at];
    if (first === brace || first === bracket) {
      const inside = skipBlank(bytes, at + 1);
      if (bytes[inside] !== first + 2) {
        open.push(first);
        at = first === brace ? skipKey(bytes, inside) : inside;
        if (at < 0) return -1;
        continue;
      }
      at = inside + 1;
    } else {
      at = skipScalar(bytes, at);
      if (at < 0) return -1;
    }
    for (;;) {
      const innermost = open.last();
      if (innermost === 0) return at;
      at = skipBlank(bytes, at);
      const next = bytes[at];
      at += 1;
      if (next === comma) {
        if (innermost === brace) at = skipKey(bytes, skipBlank(bytes, at));
        if (at < 0) return -1;
        break;
      }
      if (next !== innermost + 2) return -1;
      open.pop();
    }
  }
}

/** One byte for each open bracket: only the text limits the nesting. */
function openBrackets() {
  let held = new Uint8Array(64);
  let depth = 0;
  return {
    push(kind: number) {
      if (depth === held.length) {
        const larger = new Uint8Array(depth * 2);
        larger.set(held);
        held = larger;
      }
      held[depth] = kind;
      depth += 1;
    },
    pop() {
      depth -= 1;
    },
    last: () => (depth === 0 ? 0 : (held[depth - 1] ?? 0)),
  };
}

function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

function skipKey(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== quote) return -1;
  const after = skipString(bytes, at + 1);
  if (after < 0) return -1;
  const place = skipBlank(bytes, after);
  return bytes[place] === colon ? place + 1 : -1;
}

function skipScalar(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first === quote) return skipString(bytes, at + 1);
  const word = words.get(first);
  if (word === undefined) return skipNumber(bytes, at);
  return word.every((byte, index) => bytes[at + index] === byte) ? at + word.length : -1;
}

function skipString(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === quote) return at + 1;
    if (byte < 0x20) return -1;
    if (byte !== backslash) continue;
    at += 1;
    const escaped = bytes[at] ?? 0;
    if (escaped === letterU) {
      for (let digit = 1; digit <= 4; digit += 1) if (!isHexDigit(bytes[at + digit])) return -1;
      at += 4;
    } else if (!escapable.has(escaped)) return -1;
  }
  return -1;
}

function isHexDigit(byte = 0): boolean {
  const lower = byte | 0x20;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}

const isDigit = (byte = 0) => byte >= 0x30 && byte <= 0x39;

function skipNumber(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  at = bytes[at] === 0x30 ? at + 1 : skipDigits(bytes, at);
  if (at >= 0 && bytes[at] === 0x2e) at = skipDigits(bytes, at + 1);
  if (at < 0 || ((bytes[at] ?? 0) | 0x20) !== 0x65) return at;
  at += 1;
  if (bytes[at] === 0x2b || bytes[at] === 0x2d) at += 1;
  return skipDigits(bytes, at);
}

function skipDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(bytes[at])) at += 1;
  return at === from ? -1 : at;
}
