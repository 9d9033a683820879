import { readInstant, readTokenFields, type TokenFields, type TokenValue, textField } from '../domain/execution-token.js';
import { type ExplainKind, explainMembers, explainMessage } from '../domain/explain-token.js';
import { type SigningKey, verifySignature } from './ed25519.js';
import { equalText, sha256Hex } from './hash.js';
import { CLOCK_TOLERANCE_MS } from './verify-execution-token.js';

/** A job as the server gives it out and the agent receives it. */
export interface ExplainTerms {
  jobId: string;
  kind: ExplainKind;
  database: string;
  environment: string;
  sql: string;
  /** The `agent_id` of the poll answers: the token is for this agent alone. */
  agentId: string;
}

const LIFE_MS = 60_000;

/** The token text of a job that is given out now (HD-81). */
export function signExplainToken(terms: ExplainTerms, key: SigningKey, now: Date): string {
  const fields = new Map<string, TokenValue>([
    ...explainMembers({ ...terms, sqlHash: sha256Hex(terms.sql) }),
    ['expires_at', new Date(now.getTime() + LIFE_MS).toISOString()],
    ['key_id', key.keyId],
  ]);
  fields.set('signature', key.sign(explainMessage(fields)));
  return JSON.stringify(Object.fromEntries(fields));
}

/** Why the job must not be planned with this token, or null if it may be. Never throws. */
export function explainTokenProblem(
  tokenText: string,
  terms: ExplainTerms,
  { keys, now }: { keys: ReadonlyMap<string, string>; now: Date },
): string | null {
  const read = readTokenFields(tokenText);
  if ('why' in read) return `invalid token JSON: ${read.why}`;
  const { fields } = read;
  return (
    signatureProblem(fields, keys) ??
    lifeProblem(fields, now.getTime()) ??
    mismatch(fields, explainMembers({ ...terms, sqlHash: sha256Hex(terms.sql) }))
  );
}

function signatureProblem(fields: TokenFields, keys: ReadonlyMap<string, string>): string | null {
  const publicKey = keys.get(textField(fields, 'key_id'));
  if (publicKey === undefined) return 'unknown key';
  return verifySignature(publicKey, explainMessage(fields), textField(fields, 'signature')) ? null : 'signature invalid';
}

function lifeProblem(fields: TokenFields, now: number): string | null {
  const expiresAt = readInstant(textField(fields, 'expires_at'));
  if (expiresAt === null || expiresAt > now + LIFE_MS + CLOCK_TOLERANCE_MS) return 'invalid expires_at';
  return now > expiresAt + CLOCK_TOLERANCE_MS ? 'token expired' : null;
}

function mismatch(fields: TokenFields, expected: readonly [string, string][]): string | null {
  const wrong = expected.find(([key, value]) => !equalText(textField(fields, key), value));
  return wrong === undefined ? null : `${wrong[0]} mismatch`;
}
