import type { TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client';
import type { ProviderSettings } from '../config/provider.js';
import { failure } from '../failure.js';
import type { Provider } from './provider.js';
import type { StoredLogin } from './store.js';

export type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

interface Made {
  tokens: Tokens;
  settings: ProviderSettings;
  provider: Provider;
  server: string;
  now: number;
  /** The login that is renewed; null for a new one. */
  previous: StoredLogin | null;
}

const earlyMs = 300_000;

/** What is kept of a provider's answer (CL-42, CL-43). */
export function loginFrom({ tokens, settings, provider, server, now, previous }: Made): StoredLogin {
  const subject = tokens.claims()?.sub ?? null;
  if (previous !== null && subject !== null && previous.subject !== null && subject !== previous.subject)
    throw failure('auth_error', 'the provider returned the login of another user', { hint: 'svc login' });
  const { token, lifeMs } = bearerOf(tokens, settings);
  const { token_endpoint, revocation_endpoint = null } = provider.metadata;
  const at = (ms: number) => new Date(ms).toISOString();
  return {
    server,
    subject: subject ?? previous?.subject ?? null,
    token,
    expires_at: lifeMs === null ? null : at(now + lifeMs),
    // Half of its life at most: otherwise every command would renew a login that lives for minutes only.
    refresh_at: lifeMs === null ? null : at(now + lifeMs - Math.min(earlyMs, lifeMs / 2)),
    refresh_token: tokens.refresh_token ?? previous?.refresh_token ?? null,
    token_endpoint: String(token_endpoint),
    revocation_endpoint,
    made_with: fingerprint(settings),
  };
}

/** The settings that decide what a login is. */
export function fingerprint({ discoveryUrl, backchannelUrl, scopes, bearer }: ProviderSettings): string {
  return JSON.stringify([discoveryUrl, backchannelUrl, scopes, bearer]);
}

/** The token itself tells how long it lives, so this machine's clock may be wrong. */
function bearerOf(tokens: Tokens, settings: ProviderSettings): { token: string; lifeMs: number | null } {
  const { access_token: access, id_token: id } = tokens;
  const takesAccess = settings.bearer === 'access' || (settings.bearer === 'auto' && payloadOf(access) !== null);
  const token = takesAccess ? access : id;
  if (token === undefined)
    throw failure('auth_error', `${settings.where}: the provider gave no ID token`, {
      hint: settings.bearer === 'id' ? 'scopes must name openid' : 'scopes must name openid, or set bearer = "access"',
    });
  if (!/^[\x21-\x7e]{12,8192}$/.test(token))
    throw failure('auth_error', `${settings.where}: the token of the provider is shorter or longer than a server takes`);
  const { iat, exp } = payloadOf(token) ?? {};
  if (typeof iat === 'number' && typeof exp === 'number' && exp > iat) return { token, lifeMs: (exp - iat) * 1000 };
  return { token, lifeMs: takesAccess && tokens.expires_in !== undefined ? tokens.expires_in * 1000 : null };
}

/** The claims of a JWT, not judged; null for what is none. */
function payloadOf(token: string): Record<string, unknown> | null {
  const [head, payload] = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token.split('.') : [];
  if (head === undefined || payload === undefined) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
