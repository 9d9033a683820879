import {
  firstMessageOf,
  readInstant,
  readTokenFields,
  secondMessage,
  type TokenFields,
  type TokenValue,
  textField,
} from '../domain/execution-token.js';
import { verifySignature } from './ed25519.js';
import { addedTerms, approvalDigest, type ClaimTerms, detailHash, LIFE_MS, repeatedTerms } from './execution-token.js';
import { equalText } from './hash.js';

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
  /** `unresolvedFences` come from the token if its signatures fit, else from the claim answer. */
  | { ok: false; why: string; unresolvedFences: readonly number[] };

/** Clocks of server and agent may differ by this much (ET-33, ET-42). */
export const CLOCK_TOLERANCE_MS = 30_000;

/** Checks a token against its claim in the order of ET-28 to ET-38 and stops at the first failure. Never throws. */
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
  if (why !== null) return refused(why, textField(fields, 'unresolved_fences').match(/\d+/g)?.map(Number) ?? []);
  return { ok: true, expiresAt: readInstant(textField(fields, 'expires_at')) ?? 0 };
}

function signatureProblem(fields: TokenFields, keys: ReadonlyMap<string, string>): string | null {
  const first = fields.get('signature');
  const second = fields.get('claim_signature');
  if (fields.get('v') !== 2 || typeof first !== 'string' || typeof second !== 'string') return 'unsupported token version';
  const publicKey = keys.get(textField(fields, 'key_id'));
  if (publicKey === undefined) return 'unknown key';
  if (![first, second].every((hex) => /^[0-9a-f]{128}$/.test(hex))) return 'invalid signature hex';
  const message = firstMessageOf(fields);
  const verifies = verifySignature(publicKey, message, first) && verifySignature(publicKey, secondMessage(fields), second);
  return verifies ? null : 'signature invalid';
}

function lifeProblem(fields: TokenFields, now: number): string | null {
  const issuedAt = readInstant(textField(fields, 'issued_at'));
  const expiresAt = readInstant(textField(fields, 'expires_at'));
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
    // A claim without it fits only a token without it.
    ['max_affected_rows', claim.maxAffectedRows],
    ...addedTerms(claim),
    ['agent_id', agentId],
  ];
  const wrong = expected.find(([key, value]) => !isSame(fields.get(key), value));
  return wrong ? `${wrong[0]} mismatch` : null;
}

/** Some values are digests, so the time must not depend on where two texts differ (ET-43). */
function isSame(signed: TokenValue | undefined, claimed: TokenValue | undefined): boolean {
  return typeof signed === 'string' && typeof claimed === 'string' ? equalText(signed, claimed) : signed === claimed;
}

function contentProblem(fields: TokenFields, claim: ClaimTerms): string | null {
  if (!equalText(textField(fields, 'detail_hash'), detailHash(claim.operation, claim.detail))) return 'detail_hash mismatch';
  if (!equalText(textField(fields, 'approval_digest'), approvalDigest(claim))) return 'approval_digest mismatch';
  return null;
}
