import {
  type ApprovedContent,
  approvalMessage,
  detailMessage,
  type FirstFields,
  firstMessage,
  isSignable,
  secondMessage,
  type TokenValue,
} from '../domain/execution-token.js';
import type { SigningKey } from './ed25519.js';
import { sha256Hex } from './hash.js';

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
  /** Their executions (HD-41). Absent if the gateway or the agent does not know them. */
  unresolvedExecutions?: readonly ClaimedAttempt[] | undefined;
  approvalDigest: string;
  policyRevision: string;
  /** Null if the claim answer had none; a token that has one then does not fit. */
  statementTimeoutSecs: number | null;
  maxRows: number | null;
  maxResultBytes: number;
  marker: 'required' | 'none';
  /** How many rows a write may change that passed by risk; null for all others. Absent from claims of an older gateway. */
  maxAffectedRows?: number | null | undefined;
  /** The schemas by which names were resolved; null if that is not known (HD-31). Absent from claims of an older gateway. */
  searchPath?: readonly string[] | null | undefined;
}

export interface TokenClaims extends ClaimTerms {
  requesterRole: string;
  requesterSubjectId: string;
  agentId: string;
  issuedAt: Date;
}

export const LIFE_MS = 300_000;

/** SHA-256 in hex that binds an approval to its content (ET-12). */
export function approvalDigest(content: ApprovedContent): string {
  return sha256Hex(approvalMessage(content));
}

/** SHA-256 in hex of what runs (ET-08). */
export function detailHash(operation: string, detail: string): string {
  return sha256Hex(detailMessage(operation, detail));
}

/** The token text with both signatures, valid for 300 s from `issuedAt`. Throws if a value cannot be signed (ET-07). */
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
    ['signature', key.sign(firstMessage(first))],
    ['issued_at', claims.issuedAt.toISOString()],
    ['v', 2],
    ['key_id', key.keyId],
    ['agent_id', claims.agentId],
    ...repeatedTerms(claims),
    ...addedTerms(claims).flatMap(([key, value]): [string, TokenValue][] => (value === undefined ? [] : [[key, value]])),
  ]);
  fields.set('claim_signature', key.sign(secondMessage(fields)));
  return JSON.stringify(Object.fromEntries(fields));
}

/** The terms that only the second signature covers and that the claim answer repeats (ET-35). */
export function repeatedTerms(claim: ClaimTerms): [string, TokenValue][] {
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

/** Terms that came later. One that only the token or only the claim has does not fit. */
export function addedTerms({ unresolvedExecutions, searchPath }: ClaimTerms): [string, TokenValue | undefined][] {
  return [
    ['unresolved_executions', unresolvedExecutions?.map(({ fence, executionId }) => `${fence}:${executionId}`).join(',')],
    ['search_path', searchPath && JSON.stringify(searchPath)],
  ];
}
