/** The texts that are hashed and signed for an execution, as pure functions (`execution-token.md` 1 to 5). */

import { utf8Length } from '../lib/utf8.js';
import { canonicalJson, compareCodePoints, quoted, readJson, scalar } from './canonical-json.js';

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

/** Empty where the token has no such text. */
export function textField(fields: TokenFields, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value : '';
}

/** The role that a token names for everything the requester's credential could activate (ET-06). Names are ASCII, so this sorts by bytes. */
export function requesterRole(roles: readonly { name: string }[]): string {
  return roles.map(({ name }) => name).sort()[0] ?? 'unknown';
}

/** Bytes of the first signature, as text (ET-04). */
export function firstMessage(fields: FirstFields): string {
  return firstValues(fields).join('|');
}

/** The same of a token that was read. */
export const firstMessageOf = (fields: TokenFields): string =>
  firstMessage({
    requestId: textField(fields, 'request_id'),
    operation: textField(fields, 'operation'),
    environment: textField(fields, 'environment'),
    database: textField(fields, 'database'),
    detailHash: textField(fields, 'detail_hash'),
    expiresAt: textField(fields, 'expires_at'),
    requesterRole: textField(fields, 'requester_role'),
    requesterSubjectId: textField(fields, 'requester_subject_id'),
  });

/** Whether the eight values can be signed: no `|`, control character or lone surrogate (ET-07). */
export function isSignable(fields: FirstFields): boolean {
  return firstValues(fields).every((value) => !/[|\p{Cc}\p{Surrogate}]/u.test(value));
}

/** Bytes of the second signature, as text: the canonical token without `claim_signature` (ET-14). */
export function secondMessage(fields: TokenFields): string {
  return `svc-execution-token-v2\n${signedFields(fields, 'claim_signature')}`;
}

/** Canonical form of a token's fields without its signature (ET-09, ET-14). It includes keys that the reader does not know. */
export function signedFields(fields: TokenFields, signature: string): string {
  const signed = [...fields].filter(([key]) => key !== signature);
  const members = signed.sort(([a], [b]) => compareCodePoints(a, b)).map(([key, value]) => `${quoted(key)}:${scalar(value)}`);
  return `{${members.join(',')}}`;
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

/** The fields of a token text, or the reason why it breaks ET-01. */
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

const canonicalOperations: ReadonlySet<string> = new Set(['migrate_up', 'migrate_down', 'migrate_repair']);
function firstValues(f: FirstFields): string[] {
  return [f.requestId, f.operation, f.environment, f.database, f.detailHash, f.expiresAt, f.requesterRole, f.requesterSubjectId];
}

function plainInteger(text: string): number | undefined {
  const value = Number(text);
  return /^-?\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}
