import type { Caller } from '../domain/caller.js';
import type { ErrorCode, GatewayError } from '../domain/errors.js';
import type { JwtParts } from '../domain/permissions.js';
import type { ClientAddress } from './client-address.js';

/** Why a credential was refused, and its owner if it proved valid. For the audit log; the caller never learns it (IM-7). */
export interface AuthFailure {
  error: GatewayError;
  /** `failure_reason` of the audit event. */
  cause: string;
  subject: { id: string; type: 'user' | 'agent'; tokenId: string | null } | null;
  tokenPrefix: string | null;
  address: ClientAddress;
}

/** The answer to a credential, with what the audit log gets to know of it. */
export type Refused = { code: ErrorCode; text: string; hint?: string } & Pick<AuthFailure, 'cause' | 'subject' | 'tokenPrefix'>;

/** What an identity provider said of a user in a token that it signed. `rules` identifies the configuration that it was read by. */
export type ProviderWord = Pick<JwtParts, 'groups' | 'mappedRoles'> & { rules: string };

/** Whom a credential stands for. */
export interface Admitted {
  caller: Caller;
  /** When the credential ends; null = never. */
  expiresAt: number | null;
  /** Of a JWT, and of a session that was made from one. */
  word: ProviderWord | null;
  /** PostgreSQL's clock, where it was read with the credential. */
  clock?: () => number;
}

/** What a credential resolves to. */
export type Verdict = Admitted | { refused: Refused };

/** A refusal of somebody who proved nothing (IM-7). */
export const stranger = (code: ErrorCode, cause: string, tokenPrefix: string | null = null): Verdict => ({
  refused: { code, text: 'invalid token', cause, subject: null, tokenPrefix },
});
