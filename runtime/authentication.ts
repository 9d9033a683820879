import type { IncomingMessage } from 'node:http';
import { equalText, sha256Hex } from '../crypto/hash.js';
import type { Queryable } from '../db/client.js';
import { findCredentials, type StoredCredential } from '../db/tokens.js';
import type { Actor } from '../domain/audit/draft.js';
import type { Caller } from '../domain/caller.js';
import { type ErrorCode, type GatewayError, refusal } from '../domain/errors.js';
import { storedCaller } from '../domain/stored-caller.js';
import { prefixOf, tokenStatus } from '../domain/token-rules.js';
import type { ClientAddress } from './client-address.js';
import type { Generation } from './generation.js';
import { httpStatus } from './http-errors.js';
import type { JudgeJwt } from './oidc/judge.js';
import type { Meter } from './rate-limits/meter.js';
import { type AuthFailure, type Refused, stranger, type Verdict } from './verdict.js';

export interface Authenticated {
  caller: Caller;
  actor: Actor;
}

/** What authentication needs of a call. */
export interface Sender {
  request: IncomingMessage;
  address: ClientAddress;
  meter: Pick<Meter, 'failure'>;
}

export type Authenticate = (sender: Sender, generation: Generation) => Promise<Authenticated>;

export interface AuthenticateServices {
  database: Queryable;
  /** Judges credentials of the identity provider. */
  judgeJwt: JudgeJwt;
}

/** Checks credentials in the order of IM-13, with one query and no cache. Throws 401, 403, 429 (OP-33) or 503, after calling `onFailure`. */
export function createAuthenticate(
  services: AuthenticateServices,
  onFailure: (failure: AuthFailure) => Promise<void>,
): Authenticate {
  return async ({ request, address, meter }, generation) => {
    const verdict = await judgeCredential(services, request, { generation, address });
    if (!('refused' in verdict)) return { caller: verdict.caller, actor: actorOf(verdict.caller, address) };
    throw await refuseCredential(verdict.refused, { address, meter }, onFailure);
  };
}

/** Counts and audits a refused credential. Returns the error to throw: its own, or the 429 that replaces it (OP-33). */
export async function refuseCredential(
  { code, text, hint, ...failure }: Refused,
  { address, meter }: Pick<Sender, 'address' | 'meter'>,
  onFailure: (failure: AuthFailure) => Promise<void>,
): Promise<GatewayError> {
  const tooMany = isGuess(code) ? await meter.failure() : null;
  const error = tooMany ?? refusal(code, text, hint);
  await onFailure({ ...failure, error, address });
  return error;
}

/** Only rejected credentials count against an address. Missing ones and those without roles do not (OP-31). */
const isGuess = (code: ErrorCode) => code !== 'auth.missing_token' && httpStatus(code) === 401;

const actorOf = (caller: Caller, address: ClientAddress): Actor => ({
  id: caller.id,
  type: caller.kind,
  tokenId: caller.tokenId,
  ...address,
});

async function judgeCredential(
  { database, judgeJwt }: AuthenticateServices,
  request: IncomingMessage,
  call: { generation: Generation; address: ClientAddress },
): Promise<Verdict> {
  const credential = bearer(request.rawHeaders);
  if (credential === null) return stranger('auth.missing_token', 'missing');
  if (!/^[\x21-\x7e]{12,8192}$/.test(credential)) return stranger('auth.invalid_token', 'malformed');
  if (credential.startsWith('eyJ')) return judgeJwt(credential, call);
  const prefix = prefixOf(credential);
  if (prefix === null) return stranger('auth.invalid_token', 'malformed');
  const found = matching(await findCredentials(database, prefix), sha256Hex(credential));
  if (found === null) return stranger('auth.invalid_token', 'unknown', prefix);
  return judgeFound(found, call.generation, prefix);
}

/** The credential of the only `Authorization` header. Null if it is missing, empty or of another scheme. Two headers count as malformed (HT-20). */
function bearer(rawHeaders: readonly string[]): string | null {
  let value: string | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    if (value !== null) return ' ';
    value = rawHeaders[index + 1] ?? '';
  }
  if (value === null || value.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  const credential = value.slice(7);
  return credential === '' ? null : credential;
}

/** Compares every row with the prefix, so that the time taken does not reveal which one matched. */
function matching(rows: readonly StoredCredential[], hash: string): StoredCredential | null {
  let found: StoredCredential | null = null;
  for (const row of rows) if (equalText(row.tokenHash, hash)) found = row;
  return found;
}

function judgeFound(found: StoredCredential, generation: Generation, tokenPrefix: string): Verdict {
  const subject = { id: found.subjectId, type: found.subjectType, tokenId: found.id };
  const refused = (code: ErrorCode, text: string, cause: string): Verdict => ({
    refused: { code, text, cause, subject, tokenPrefix },
  });
  const status = tokenStatus(found, found.now);
  if (status === 'revoked') return stranger('auth.invalid_token', 'revoked', tokenPrefix);
  if (status === 'expired') return refused('auth.token_expired', 'token expired', 'expired');
  if (found.subjectType === 'agent')
    return { caller: { kind: 'agent', id: found.subjectId, tokenId: found.id, agentScopes: found.agentScopes } };
  if (found.userStatus !== 'active') return refused('auth.user_suspended', 'user suspended', 'suspended');
  const caller = storedCaller(found, generation.shared.auth);
  if (caller === 'no_roles') return refused('auth.no_roles_resolved', 'insufficient permissions', caller);
  if (caller === 'scope_ceiling') return refused('auth.insufficient_scope', 'insufficient permissions', caller);
  return { caller };
}
