import {
  type ApprovedContent,
  approvalMessage,
  detailMessage,
  type FirstFields,
  firstMessage,
  isSignable,
  readInstant,
  readTokenFields,
  secondMessage,
  type TokenFields,
  type TokenValue,
} from '../domain/execution-token.js';
import { type SigningKey, verifySignature } from './ed25519.js';
import { equalText, sha256Hex } from './hash.js';

export type { ApprovedContent } from '../domain/execution-token.js';

/** An earlier attempt whose marker is to be looked for. */
export interface ClaimedAttempt {
  fence: number;
  executionId: string;
}

/** What a claim answer says about the job, as far as the token repeats it. */
export interface ClaimTerms {
  requestId: string;
  operation: string;
  environment: string;
  database: string;
  detail: string;
  executionId: string;
  fence: number;
  unresolvedFences: readonly number[];
  /** Their executions; absent from a gateway or for an agent that knows none (HD-41). */
  unresolvedExecutions?: readonly ClaimedAttempt[] | undefined;
  approvalDigest: string;
  policyRevision: string;
  /** Null when the claim answer brought none; a token that has one then does not fit. */
  statementTimeoutSecs: number | null;
  maxRows: number | null;
  maxResultBytes: number;
  marker: 'required' | 'none';
  /** Rows that a write may change that passed by risk, null for all others; absent from claims of an older gateway. */
  maxAffectedRows?: number | null | undefined;
  /** By which names were resolved, null where that is not known (HD-31); absent from claims of an older gateway. */
  searchPath?: readonly string[] | null | undefined;
}

export interface TokenClaims extends ClaimTerms {
  requesterRole: string;
  requesterSubjectId: string;
  agentId: string;
  issuedAt: Date;
}

export interface TokenVerifier {
  /** Known public keys in hex by key id (ET-27). */
  keys: ReadonlyMap<string, string>;
  /** `agent_id` of the poll answers (ET-36). */
  agentId: string;
  now: Date;
  /** True when the claim answer carried an execution plan (ET-28). */
  hasExecutionPlan: boolean;
}

export type TokenVerdict =
  | { ok: true; expiresAt: number }
  /** `unresolvedFences`: those of the token where it carries its signatures, else those that the claim answer names. */
  | { ok: false; why: string; unresolvedFences: readonly number[] };

const LIFE_MS = 300_000;
/** Clocks of server and agent may differ by this much (ET-33, ET-42). */
export const CLOCK_TOLERANCE_MS = 30_000;

/** SHA-256 in hex that binds an approval to its content (ET-12). */
export function approvalDigest(content: ApprovedContent): string {
  return sha256Hex(approvalMessage(content));
}

/** SHA-256 in hex of what runs (ET-08). */
export function detailHash(operation: string, detail: string): string {
  return sha256Hex(detailMessage(operation, detail));
}

/** The token text with both signatures, valid for 300 s from `issuedAt`; throws when a value cannot be signed (ET-07). */
export function signExecutionToken(claims: TokenClaims, key: SigningKey): string {
  const first: FirstFields = {
    requestId: claims.requestId,
    operation: claims.operation,
    environment: claims.environment,
    database: claims.database,
    detailHash: detailHash(claims.operation, claims.detail),
    expiresAt: new Date(claims.issuedAt.getTime() + LIFE_MS).toISOString(),
    requesterRole: claims.requesterRole,
    requesterSubjectId: claims.requesterSubjectId,
  };
  if (!isSignable(first)) throw new Error('a value of the execution token cannot be signed');
  const fields = new Map<string, TokenValue>([
    ['request_id', first.requestId],
    ['operation', first.operation],
    ['environment', first.environment],
    ['database', first.database],
    ['detail_hash', first.detailHash],
    ['expires_at', first.expiresAt],
    ['requester_role', first.requesterRole],
    ['requester_subject_id', first.requesterSubjectId],
    ['signature', key.sign(utf8(firstMessage(first)))],
    ['issued_at', claims.issuedAt.toISOString()],
    ['v', 2],
    ['key_id', key.keyId],
    ['agent_id', claims.agentId],
    ...repeatedTerms(claims),
    ...addedTerms(claims).flatMap(([key, value]): [string, TokenValue][] => (value === undefined ? [] : [[key, value]])),
  ]);
  fields.set('claim_signature', key.sign(utf8(secondMessage(fields))));
  return JSON.stringify(Object.fromEntries(fields));
}

/** Checks a token against its claim in the order ET-28 to ET-38 and stops at the first failure; never throws. */
export function verifyExecutionToken(tokenText: string, claim: ClaimTerms, verifier: TokenVerifier): TokenVerdict {
  const refused = (why: string, unresolvedFences = claim.unresolvedFences): TokenVerdict => ({
    ok: false,
    why,
    unresolvedFences,
  });
  if (verifier.hasExecutionPlan) return refused('execution plan not supported');
  const read = readTokenFields(tokenText);
  if ('why' in read) return refused(`invalid token JSON: ${read.why}`);
  const { fields } = read;
  const forged = signatureProblem(fields, verifier.keys);
  if (forged !== null) return refused(forged);
  const why =
    lifeProblem(fields, verifier.now.getTime()) ?? mismatch(fields, claim, verifier.agentId) ?? contentProblem(fields, claim);
  if (why !== null) return refused(why, text(fields, 'unresolved_fences').match(/\d+/g)?.map(Number) ?? []);
  return { ok: true, expiresAt: readInstant(text(fields, 'expires_at')) ?? 0 };
}

function signatureProblem(fields: TokenFields, keys: ReadonlyMap<string, string>): string | null {
  const first = fields.get('signature');
  const second = fields.get('claim_signature');
  if (fields.get('v') !== 2 || typeof first !== 'string' || typeof second !== 'string') return 'unsupported token version';
  const publicKey = keys.get(text(fields, 'key_id'));
  if (publicKey === undefined) return 'unknown key';
  if (![first, second].every((hex) => /^[0-9a-f]{128}$/.test(hex))) return 'invalid signature hex';
  const message = firstMessage({
    requestId: text(fields, 'request_id'),
    operation: text(fields, 'operation'),
    environment: text(fields, 'environment'),
    database: text(fields, 'database'),
    detailHash: text(fields, 'detail_hash'),
    expiresAt: text(fields, 'expires_at'),
    requesterRole: text(fields, 'requester_role'),
    requesterSubjectId: text(fields, 'requester_subject_id'),
  });
  const verifies =
    verifySignature(publicKey, utf8(message), first) && verifySignature(publicKey, utf8(secondMessage(fields)), second);
  return verifies ? null : 'signature invalid';
}

function lifeProblem(fields: TokenFields, now: number): string | null {
  const issuedAt = readInstant(text(fields, 'issued_at'));
  const expiresAt = readInstant(text(fields, 'expires_at'));
  if (issuedAt === null || expiresAt === null || expiresAt - issuedAt > LIFE_MS) return 'invalid expires_at';
  if (now > expiresAt + CLOCK_TOLERANCE_MS) return 'token expired';
  return issuedAt > now + CLOCK_TOLERANCE_MS ? 'token not yet valid' : null;
}

function mismatch(fields: TokenFields, claim: ClaimTerms, agentId: string): string | null {
  const expected: [string, TokenValue | undefined][] = [
    ['request_id', claim.requestId],
    ['operation', claim.operation],
    ['database', claim.database],
    ['environment', claim.environment],
    ...repeatedTerms(claim),
    // A claim that leaves it out fits only a token that has none.
    ['max_affected_rows', claim.maxAffectedRows],
    ...addedTerms(claim),
    ['agent_id', agentId],
  ];
  const wrong = expected.find(([key, value]) => !isSame(fields.get(key), value));
  return wrong ? `${wrong[0]} mismatch` : null;
}

/** Digests are among the values, so the time taken does not depend on where two texts differ (ET-43). */
function isSame(signed: TokenValue | undefined, claimed: TokenValue | undefined): boolean {
  return typeof signed === 'string' && typeof claimed === 'string' ? equalText(signed, claimed) : signed === claimed;
}

function contentProblem(fields: TokenFields, claim: ClaimTerms): string | null {
  if (!equalText(text(fields, 'detail_hash'), detailHash(claim.operation, claim.detail))) return 'detail_hash mismatch';
  if (!equalText(text(fields, 'approval_digest'), approvalDigest(claim))) return 'approval_digest mismatch';
  return null;
}

/** The terms that only the second signature covers and that the claim answer repeats (ET-35). */
function repeatedTerms(claim: ClaimTerms): [string, TokenValue][] {
  return [
    ['execution_id', claim.executionId],
    ['fence', claim.fence],
    ['unresolved_fences', claim.unresolvedFences.join(',')],
    ['approval_digest', claim.approvalDigest],
    ['policy_revision', claim.policyRevision],
    ['statement_timeout_secs', claim.statementTimeoutSecs],
    ['max_rows', claim.maxRows],
    ['max_result_bytes', claim.maxResultBytes],
    ['marker', claim.marker],
    ...(claim.maxAffectedRows === undefined ? [] : [['max_affected_rows', claim.maxAffectedRows] satisfies [string, TokenValue]]),
  ];
}

/** Terms that came later: one that the token has and the claim does not, or the other way round, does not fit. */
function addedTerms({ unresolvedExecutions, searchPath }: ClaimTerms): [string, TokenValue | undefined][] {
  return [
    ['unresolved_executions', unresolvedExecutions?.map(({ fence, executionId }) => `${fence}:${executionId}`).join(',')],
    ['search_path', searchPath && JSON.stringify(searchPath)],
  ];
}

function text(fields: TokenFields, key: string): string {
  const value = fields.get(key);
  return typeof value === 'string' ? value : '';
}

function utf8(message: string): Uint8Array {
  return new TextEncoder().encode(message);
}
