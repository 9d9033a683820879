import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { type FakeApi, startFakeApi } from './fake-api.js';
import { licenseFor, licenseSigner } from './license.js';

export interface Key {
  jwk: JWK;
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

/** A key pair whose public half has this `kid` and `alg`. */
export async function makeKey(alg: string, kid: string, members: JWK = {}): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig', ...members };
  return {
    jwk,
    sign: (claims, header = {}) => new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  };
}

export interface FakeProvider extends FakeApi {
  issuer: string;
  keys(...keys: unknown[]): void;
  /** How often its keys were read. */
  fetches(): number;
}

/** An identity provider that only shows its discovery document and its keys. */
export async function startFakeProvider(): Promise<FakeProvider> {
  const api = await startFakeApi();
  const issuer = api.url;
  api.on('GET /.well-known/openid-configuration', { body: { issuer, jwks_uri: `${issuer}/keys` } });
  return {
    ...api,
    issuer,
    keys: (...keys) => void api.on('GET /keys', { body: { keys } }),
    fetches: () => api.calls.filter(({ path }) => path === '/keys').length,
  };
}

/** `[license]` and `[auth.oidc]` of a server that takes this issuer's tokens for client `svc`. */
export function oidcToml(issuer: string, more = '', limits: Record<string, number> = {}): string {
  const { key } = licenseFor(Date.parse('2099-01-01'), { limits });
  return `[license]\nkey = "${key}"\npublic_key = "${licenseSigner.publicKeyHex}"\n[auth.oidc]\nissuer = "${issuer}"\nclient_id = "svc"\n${more}`;
}

const nowSecs = () => Math.floor(Date.now() / 1000);

/** Claims of a good token. */
export const goodClaims = (issuer: string, over: Record<string, unknown> = {}) => ({
  iss: issuer,
  aud: 'svc',
  sub: 'olga',
  iat: nowSecs(),
  exp: nowSecs() + 300,
  ...over,
});
