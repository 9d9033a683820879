import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Config } from '../config/types.js';
import { equalText, sha256Hex } from '../crypto/hash.js';
import type { Database, Vouched } from '../db/client.js';
import { clockFrom } from '../db/clock.js';
import { findCredentials, type StoredCredential } from '../db/credentials.js';
import type { Actor } from '../domain/audit/draft.js';
import { type ErrorCode, type GatewayError, refusal } from '../domain/errors.js';
import { storedCaller } from '../domain/stored-caller.js';
import { prefixOf, tokenStatus } from '../domain/token-rules.js';
import type { ClientAddress } from './client-address.js';
import type { Credential } from './credential.js';
import { type Admitted, type AuthFailure, type Refused, stranger, type Verdict } from './credential-verdict.js';
import type { Generation } from './generation.js';
import { httpStatus } from './http-errors.js';
import type { AuthenticateJwt } from './oidc/authenticate.js';
import { oidcInForce, wordInForce } from './oidc/in-force.js';
import type { Meter } from './rate-limits/meter.js';

export interface Authenticated extends Admitted {
  actor: Actor;
}

/** What authentication needs of a call. */
export interface Sender {
  request: IncomingMessage;
  /** Null without one. */
  credential: Credential | null;
  address: ClientAddress;
  meter: Pick<Meter, 'failure'>;
}

/**
 * `beside` reads at the same time, on the same connection if the credential is an API token; not at all for a credential that this process has not
 * accepted before. It is awaited, and must not reject.
 */
export type Authenticate = (sender: Sender, generation: Generation, beside?: Beside) => Promise<Authenticated>;
export type Beside = (db: Vouched) => Promise<void>;

export interface AuthenticateServices {
  database: Pick<Database, 'query' | 'together'>;
  /** Checks credentials of the identity provider. */
  authenticateJwt: AuthenticateJwt;
  config: () => Pick<Config, 'auth' | 'license'>;
}

/** How many credentials a process remembers as accepted. */
const maxAccepted = 10_000;

/** Checks credentials in the order of IM-13, with one query and no cache. Throws 401, 403, 429 (OP-33) or 503, after calling `onFailure`. */
export function createAuthenticate(
  services: AuthenticateServices,
  onFailure: (failure: AuthFailure) => Promise<void>,
): Authenticate {
  // By their hashes. They open nothing: a stranger's call must cost no more than the look at the credential, and what goes beside it may be megabytes.
  const accepted = new LRUCache<string, true>({ max: maxAccepted });
  return async ({ credential, address, meter }, generation, beside) => {
    const hash = sha256Hex(credential?.text ?? '');
    const call = { hash, generation, address, beside: accepted.has(hash) ? beside : undefined };
    const verdict = await authenticateCredential(services, credential, call);
    if ('refused' in verdict) {
      accepted.delete(hash);
      throw await refuseCredential(verdict.refused, { address, meter }, onFailure);
    }
    accepted.set(hash, true);
    return { ...verdict, actor: actorOf(verdict.caller, address) };
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

const actorOf = (caller: Admitted['caller'], address: ClientAddress): Actor => ({
  id: caller.id,
  type: caller.kind,
  tokenId: caller.tokenId,
  ...address,
});

const noneSent: Verdict = {
  refused: {
    code: 'auth.missing_token',
    text: 'invalid token',
    hint: 'no token was sent: send it in the header Authorization: Bearer <token>',
    cause: 'missing',
    subject: null,
    tokenPrefix: null,
  },
};

async function authenticateCredential(
  { database, authenticateJwt, config }: AuthenticateServices,
  credential: Credential | null,
  call: { hash: string; generation: Generation; address: ClientAddress; beside: Beside | undefined },
): Promise<Verdict> {
  if (credential === null) return noneSent;
  const { text, isCookie } = credential;
  if (!/^[\x21-\x7e]{12,8192}$/.test(text)) return stranger('auth.invalid_token', 'malformed');
  if (text.startsWith('eyJ') && !isCookie) {
    const [verdict] = await Promise.all([authenticateJwt(text, call), call.beside && database.together(call.beside)]);
    return verdict;
  }
  const prefix = prefixOf(text);
  if (prefix === null) return stranger('auth.invalid_token', 'malformed');
  const found = matching(await credentialsBeside(database, prefix, call.beside), call.hash);
  if (found === null) return stranger('auth.invalid_token', 'unknown', prefix);
  if (isCookie !== (found.provisioningKind === 'console')) return stranger('auth.invalid_token', 'out_of_place', prefix);
  return authenticateFound(found, { ...call, config: config(), tokenPrefix: prefix });
}

function credentialsBeside(
  database: AuthenticateServices['database'],
  prefix: string,
  beside: Beside | undefined,
): Promise<StoredCredential[]> {
  if (beside === undefined) return findCredentials(database, prefix);
  return database.together(async (db) => (await Promise.all([findCredentials(db, prefix), beside(db)]))[0]);
}

/** Compares every row with the prefix, so that the time taken does not reveal which one matched. */
function matching(rows: readonly StoredCredential[], hash: string): StoredCredential | null {
  let found: StoredCredential | null = null;
  for (const row of rows) if (equalText(row.tokenHash, hash)) found = row;
  return found;
}

function authenticateFound(
  found: StoredCredential,
  { generation, config, tokenPrefix }: { generation: Generation; config: Pick<Config, 'auth' | 'license'>; tokenPrefix: string },
): Verdict {
  const { expiresAt, word } = found;
  const subject = { id: found.subjectId, type: found.subjectType, tokenId: found.id };
  const refused = (code: ErrorCode, text: string, cause: string): Verdict => ({
    refused: { code, text, cause, subject, tokenPrefix },
  });
  const status = tokenStatus(found, found.now);
  if (status === 'revoked') return stranger('auth.invalid_token', 'revoked', tokenPrefix);
  if (status === 'expired') return refused('auth.token_expired', 'token expired', 'expired');
  if (found.subjectType === 'agent') {
    const caller = { kind: 'agent', id: found.subjectId, tokenId: found.id, agentScopes: found.agentScopes } as const;
    return { caller, expiresAt, word };
  }
  if (found.userStatus !== 'active') return refused('auth.user_suspended', 'user suspended', 'suspended');
  const oidc = word === null ? null : oidcInForce(config);
  if (word !== null && oidc === null) return refused('auth.oidc_not_configured', 'OIDC not configured', 'oidc_not_configured');
  const jwt = word && wordInForce(word, oidc);
  if (word !== null && jwt === null) return refused('auth.oidc_failed', 'invalid token', 'oidc_rules_changed');
  const caller = storedCaller(found, generation.shared.auth, jwt);
  if (caller === 'no_roles') return refused('auth.no_roles_resolved', 'insufficient permissions', caller);
  if (caller === 'scope_ceiling') return refused('auth.insufficient_scope', 'insufficient permissions', caller);
  return { caller, expiresAt, word, clock: clockFrom(found.now) };
}
