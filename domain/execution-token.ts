/** The texts that are hashed and signed for an execution, as pure functions (`execution-token.md` 1 to 5). */

export interface ApprovedContent {
  operation: string;
  database: string;
  environment: string;
  policyRevision: string;
  detail: string;
}

export interface FirstFields {
  requestId: string;
  operation: string;
  environment: string;
  database: string;
  detailHash: string;
  expiresAt: string;
  requesterRole: string;
  requesterSubjectId: string;
}

export type TokenValue = string | number | boolean | null;
export type TokenFields = ReadonlyMap<string, TokenValue>;

/** Bytes of the first signature, as text (ET-04). */
export function firstMessage(fields: FirstFields): string {
  return firstValues(fields).join('|');
}

/** Whether the eight values can be signed: no `|`, control character or lone surrogate (ET-07). */
export function isSignable(fields: FirstFields): boolean {
  return firstValues(fields).every((value) => !/[|\p{Cc}\p{Surrogate}]/u.test(value));
}

/** Bytes of the second signature, as text: the canonical token without `claim_signature` (ET-14). */
export function secondMessage(fields: TokenFields): string {
  const signed = [...fields].filter(([key]) => key !== 'claim_signature');
  const members = signed.sort(([a], [b]) => compareCodePoints(a, b)).map(([key, value]) => `${quoted(key)}:${scalar(value)}`);
  return `svc-execution-token-v2\n{${members.join(',')}}`;
}

/** Bytes of the approval digest, as text (ET-12). */
export function approvalMessage(content: ApprovedContent): string {
  const parts = [content.operation, content.database, content.environment, content.policyRevision, content.detail];
  return `svc-approval-v1\n${parts.map((part) => `${utf8Length(part)}:${part}\n`).join('')}`;
}

/** Text whose SHA-256 is the `detail_hash` (ET-08; no execution plan exists here). */
export function detailMessage(operation: string, detail: string): string {
  return canonicalOperations.has(operation) ? canonicalJson(detail) : detail;
}

/** Canonical form of a JSON text; a text that is no JSON, or nests more than 200 levels, is given back as it is (ET-09). */
export function canonicalJson(text: string): string {
  const value = readJson(text);
  return value === null ? text : canonical(value);
}

/** The fields of a token text, or why it breaks ET-01. */
export function readTokenFields(text: string): { fields: TokenFields } | { why: string } {
  const value = readJson(text);
  if (value === null) return { why: 'not a JSON text' };
  if (value.kind !== 'object') return { why: 'not an object' };
  const fields = new Map<string, TokenValue>();
  for (const [key, member] of value.members) {
    if (member.kind === 'object' || member.kind === 'array') return { why: `nested value in ${key}` };
    if (fields.has(key)) return { why: `duplicate key ${key}` };
    const field = member.kind === 'number' ? plainInteger(member.text) : member.value;
    if (field === undefined) return { why: `number of ${key} is no plain integer` };
    if (/\p{Surrogate}/u.test(key) || (typeof field === 'string' && /\p{Surrogate}/u.test(field)))
      return { why: 'lone surrogate' };
    fields.set(key, field);
  }
  return { fields };
}

/** Milliseconds since 1970 of an RFC 3339 text, or null (ET-03). */
export function readInstant(text: string): number | null {
  const parts = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:)(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.exec(text);
  if (!parts) return null;
  const [, date, hoursMinutes, seconds, fraction = '', zone] = parts;
  const leap = seconds === '60';
  const instant = Date.parse(`${date}T${hoursMinutes}${leap ? '59' : seconds}${fraction.slice(0, 4)}${zone?.toUpperCase()}`);
  return Number.isNaN(instant) ? null : instant + (leap ? 1000 : 0);
}

type Json =
  | { kind: 'object'; members: [string, Json][] }
  | { kind: 'array'; items: Json[] }
  | { kind: 'scalar'; value: string | boolean | null }
  | { kind: 'number'; text: string };

const canonicalOperations: ReadonlySet<string> = new Set(['migrate_up', 'migrate_down', 'migrate_repair']);
const MAX_DEPTH = 200;

function firstValues(f: FirstFields): string[] {
  return [f.requestId, f.operation, f.environment, f.database, f.detailHash, f.expiresAt, f.requesterRole, f.requesterSubjectId];
}

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

function scalar(value: TokenValue): string {
  return typeof value === 'string' ? quoted(value) : String(value);
}

/** `JSON.stringify` escapes as ET-09 demands, except that it also escapes lone surrogates, which no signed text holds. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

function canonicalNumber(text: string): string {
  if (/^-?\d+$/.test(text)) return BigInt(text).toString();
  const value = Number(text);
  if (!Number.isFinite(value)) return text;
  return Number.isInteger(value) ? BigInt(value).toString() : String(value);
}

function plainInteger(text: string): number | undefined {
  const value = Number(text);
  return /^-?\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

/** UTF-8 byte order is code point order, which differs from JavaScript's order of UTF-16 units above U+D7FF. */
function compareCodePoints(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  for (let i = 0; i < left.length && i < right.length; i++) {
    const difference = (left[i] as string).codePointAt(0)! - (right[i] as string).codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A JSON text as a tree that keeps duplicate keys and the digits of numbers; null when it is no JSON or too deep. */
function readJson(text: string): Json | null {
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
