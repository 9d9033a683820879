export interface TokenInstants {
  /** Milliseconds since the epoch, as every instant here. */
  revokedAt: number | null;
  expiresAt: number | null;
}

export type TokenStatus = 'active' | 'expired' | 'revoked';

/** IM-14: `revoked` is checked before `expired`. A token is still valid at the exact instant of its expiry (IM-13). */
export function tokenStatus(token: TokenInstants, now: number): TokenStatus {
  if (token.revokedAt !== null) return 'revoked';
  return token.expiresAt !== null && now > token.expiresAt ? 'expired' : 'active';
}

/** IM-11, IM-13: the lookup prefix of a credential; null if it does not look like an API token. */
export function prefixOf(credential: string): string | null {
  return /^svc_[\x21-\x7e]{8,252}$/.test(credential) ? credential.slice(4, 12) : null;
}
