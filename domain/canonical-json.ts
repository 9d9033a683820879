import { isNestedDeeper } from '../lib/json/depth.js';

/** JSON as it was written, and its canonical form (`execution-token.md` ET-09), as pure functions. */

/** A JSON value that keeps duplicate keys and the digits of numbers. */
export type Json =
  | { kind: 'object'; members: [string, Json][] }
  | { kind: 'array'; items: Json[] }
  | { kind: 'scalar'; value: string | boolean | null }
  | { kind: 'number'; text: string };

/** Canonical form of a JSON text. Returns the text unchanged if it is not JSON or nests more than 200 levels (ET-09). */
export function canonicalJson(text: string): string {
  const value = readJson(text);
  return value === null ? text : canonical(value);
}

/** A JSON text as a tree; null if it is not JSON or nests more than 200 levels. */
export function readJson(text: string): Json | null {
  if (isNestedDeeper(new TextEncoder().encode(text), MAX_DEPTH)) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[-+.\w]+|[{}[\]]/g) ?? [];
  let next = 0;
  const read = (depth: number): Json | null => {
    const token = tokens[next++] as string;
    if (depth > MAX_DEPTH) return null;
    if (token === '{') {
      const members: [string, Json][] = [];
      while (tokens[next] !== '}') {
        const key = JSON.parse(tokens[next++] as string) as string;
        const value = read(depth + 1);
        if (value === null) return null;
        members.push([key, value]);
      }
      next++;
      return { kind: 'object', members };
    }
    if (token === '[') {
      const items: Json[] = [];
      while (tokens[next] !== ']') {
        const item = read(depth + 1);
        if (item === null) return null;
        items.push(item);
      }
      next++;
      return { kind: 'array', items };
    }
    if (/^[-\d]/.test(token)) return { kind: 'number', text: token };
    return { kind: 'scalar', value: JSON.parse(token) as string | boolean | null };
  };
  return read(1);
}

const MAX_DEPTH = 200;

function canonical(value: Json): string {
  switch (value.kind) {
    case 'object': {
      const last = new Map(value.members);
      const keys = [...last.keys()].sort(compareCodePoints);
      return `{${keys.map((key) => `${quoted(key)}:${canonical(last.get(key) as Json)}`).join(',')}}`;
    }
    case 'array':
      return `[${value.items.map(canonical).join(',')}]`;
    case 'number':
      return canonicalNumber(value.text);
    case 'scalar':
      return scalar(value.value);
  }
}

export function scalar(value: string | number | boolean | null): string {
  return typeof value === 'string' ? quoted(value) : String(value);
}

/** `JSON.stringify` escapes as ET-09 demands, except that it also escapes lone surrogates, which no signed text holds. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

function canonicalNumber(text: string): string {
  if (/^-?\d+$/.test(text)) return BigInt(text).toString();
  const value = Number(text);
  if (!Number.isFinite(value)) return text;
  return Number.isInteger(value) ? BigInt(value).toString() : String(value);
}

/** UTF-8 byte order is code point order, which differs from JavaScript's order of UTF-16 units above U+D7FF. */
export function compareCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  let at = 0;
  while (at < shorter && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at === shorter ? a.length - b.length : rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
}

/** Ranks surrogates above all other units. */
const rank = (unit: number) => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);
