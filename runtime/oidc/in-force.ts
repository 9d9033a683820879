import type { Config, OidcConfig } from '../../config/types.js';
import { sha256Hex } from '../../crypto/hash.js';
import type { JwtParts } from '../../domain/permissions.js';
import type { ProviderWord } from '../credential-verdict.js';
import { planLimits } from '../license-limits.js';

/** `[auth.oidc]`, if there is one and the plan allows it (IM-30). */
export const oidcInForce = (config: Pick<Config, 'auth' | 'license'>): OidcConfig | null =>
  config.auth.oidc !== null && planLimits(config, Date.now()).oidc ? config.auth.oidc : null;

/** A digest of what decides whether a token of the provider is accepted, and with which subject, groups and mapped roles. */
export function rulesOf({ clientSecret: _secret, scopes: _scopes, defaultRole: _role, ...rules }: OidcConfig): string {
  return sha256Hex(JSON.stringify(rules));
}

/** What the provider's word still gives; null if the token that it came in might be refused now, or have other groups and roles (CO-11). */
export const wordInForce = (word: ProviderWord, oidc: OidcConfig | null): JwtParts | null =>
  oidc !== null && word.rules === rulesOf(oidc) ? { ...word, defaultRole: oidc.defaultRole } : null;
