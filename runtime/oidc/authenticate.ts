import type { Logger } from 'pino';
import type { Config, OidcConfig } from '../../config/types.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import type { Database } from '../../db/client.js';
import { checkClaims, type Login } from '../../domain/oidc/claims.js';
import { jwtCaller } from '../../domain/stored-caller.js';
import type { ClientAddress } from '../client-address.js';
import { type Refused, stranger, type Verdict } from '../credential-verdict.js';
import type { Generation } from '../generation.js';
import { planLimits } from '../license-limits.js';
import { fetchJson } from './fetch-json.js';
import { oidcInForce, rulesOf } from './in-force.js';
import { createKeySet, type KeySet } from './key-set.js';
import { loggedIn } from './login.js';
import { ProviderAway, verifiedClaims } from './verify.js';

interface JwtCall {
  generation: Generation;
  address: ClientAddress;
}

export type AuthenticateJwt = (token: string, call: JwtCall) => Promise<Verdict>;

interface JwtServices {
  database: Database;
  config: () => Config;
  log: Logger;
}

/** Authenticates JWTs by the configuration of the moment (identity.md section 3). The keys of the provider are kept between calls, and nothing else. */
export function createAuthenticateJwt({ database, config, log }: JwtServices): AuthenticateJwt {
  const keySetOf = rememberedKeySet((error) =>
    log.warn({ error: describe(error) }, 'the keys of the identity provider cannot be fetched'),
  );
  return async (token, call) => {
    const current = config();
    const oidc = oidcInForce(current);
    if (oidc === null) return refusedAs('auth.oidc_not_configured', 'OIDC not configured', 'oidc_not_configured');
    try {
      const keySet = keySetOf(oidc);
      // The keys may have to be fetched, which is no work of the database.
      const claims = await outsideDatabaseWork(() => verifiedClaims(token, keySet));
      if (typeof claims === 'string') return stranger('auth.oidc_failed', `jwt_${claims}`);
      const login = checkClaims(claims, oidc, Date.now());
      if (typeof login === 'string') return stranger('auth.oidc_failed', `jwt_${login}`);
      const { maxUsers } = planLimits(current, Date.now());
      return await authenticateLogin(login, oidc, call, { database, maxUsers });
    } catch (error) {
      if (!(error instanceof ProviderAway)) throw error;
      return refusedAs('service.unavailable', 'identity provider unreachable', 'provider_unreachable');
    }
  };
}

/** Another issuer or address has other keys. */
function rememberedKeySet(onFailure: (error: unknown) => void): (oidc: OidcConfig) => KeySet {
  let known: { issuer: string; jwksUri: string | null; keySet: KeySet } | null = null;
  return ({ issuer, jwksUri }) => {
    if (known === null || known.issuer !== issuer || known.jwksUri !== jwksUri)
      known = { issuer, jwksUri, keySet: createKeySet({ issuer, jwksUri }, { fetchJson, onFailure }) };
    return known.keySet;
  };
}

async function authenticateLogin(
  login: Login,
  oidc: OidcConfig,
  { generation, address }: JwtCall,
  options: { database: Database; maxUsers: number | null },
): Promise<Verdict> {
  const { defaultRole, linkExistingUsers } = oidc;
  const user = await loggedIn(login, { ...options, linkExistingUsers, address });
  const subject = { id: login.subject, type: 'user' as const, tokenId: null };
  if (user === 'local_user') return stranger('auth.oidc_failed', user);
  if (user === 'user_limit')
    return refusedAs('plan.limit_exceeded', `user limit reached: ${options.maxUsers}`, user, { subject, hint });
  if (user.status !== 'active') return refusedAs('auth.user_suspended', 'user suspended', 'suspended', { subject });
  const { groups, mappedRoles, expiresAt } = login;
  const caller = jwtCaller(user, generation.shared.auth, { groups, mappedRoles, defaultRole });
  return caller === 'no_roles'
    ? refusedAs('auth.no_roles_resolved', 'insufficient permissions', caller, { subject })
    : { caller, expiresAt, word: { groups, mappedRoles, rules: rulesOf(oidc) } };
}

const describe = (error: unknown) => (error instanceof Error ? error.message : 'unknown');

const hint = 'suspend or delete a user, or take a larger plan';

const refusedAs = (code: Refused['code'], text: string, cause: string, more: Partial<Refused> = {}): Verdict => ({
  refused: { code, text, cause, subject: null, tokenPrefix: null, ...more },
});
