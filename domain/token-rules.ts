export interface TokenInstants {
  /** Milliseconds since the epoch, as every instant here. */
  revokedAt: number | null;
  expiresAt: number | null;
}

export type TokenStatus = 'active' | 'expired' | 'revoked';

/** IM-14: revoked counts before expired; at its very instant of expiry a token is still valid (IM-13). */
export function tokenStatus(token: TokenInstants, now: number): TokenStatus {
  if (token.revokedAt !== null) return 'revoked';
  return token.expiresAt !== null && now > token.expiresAt ? 'expired' : 'active';
}

/** IM-11, IM-13: the lookup prefix of a credential; null when it has not the shape of an API token. */
export function prefixOf(credential: string): string | null {
  return /^svc_[\x21-\x7e]{8,252}$/.test(credential) ? credential.slice(4, 12) : null;
}
