import type { Configuration, CustomFetch } from 'openid-client';
import type { OidcConfig } from '../../config/types.js';
import { openSeed, sealSeed } from '../../crypto/seal.js';
import { readBounded } from '../read-bounded.js';

type Library = typeof import('openid-client');

/** A client of the provider that logs people in. */
export type OidcClient = OidcConfig & { clientId: string };

/** What ties the return from the provider to its beginning. */
interface Begun {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
  returnTo: string;
  /** The browser must be back by then. */
  until: number;
}

/** Why a login signed nobody in. Holds nothing that the provider said. */
export class LoginFault extends Error {
  readonly kind: 'not_ours' | 'refused' | 'away';
  constructor(kind: LoginFault['kind'], cause?: unknown) {
    super(kind, { cause });
    this.kind = kind;
  }
}

export interface CodeLogin {
  /** Where to send the browser, and what it has to bring back, sealed. */
  begin(client: OidcClient, redirectUri: string, returnTo: string): Promise<{ address: string; sealed: string }>;
  /** The ID token of the person who comes back, with its signature unchecked, and the page that they wanted. Rejects with a `LoginFault`. */
  finish(client: OidcClient, sealed: string | null, search: string): Promise<{ idToken: string; returnTo: string }>;
}

export const loginSecs = 600;
const discoveryMs = 3_600_000;
const callSecs = 10;
const sealedFor = { keyId: 'console', purpose: 'console_login' };

/**
 * Logins by authorization code with PKCE (CO-14). The library is loaded at the first. What a login is bound to goes through the browser, sealed under the
 * secret key, so that it may come back to another server.
 */
export function createCodeLogin(secretKey: Uint8Array): CodeLogin {
  const providerOf = rememberedProvider();
  const reach = async (client: OidcClient) => {
    const library = await import('openid-client');
    const provider = await providerOf(library, client).catch((error: unknown) => {
      throw new LoginFault('away', error);
    });
    return { library, provider };
  };
  return {
    async begin(client, redirectUri, returnTo) {
      const { library, provider } = await reach(client);
      const secrets = { state: library.randomState(), nonce: library.randomNonce(), verifier: library.randomPKCECodeVerifier() };
      const begun: Begun = { ...secrets, redirectUri, returnTo, until: Date.now() + loginSecs * 1000 };
      const address = library.buildAuthorizationUrl(provider, {
        redirect_uri: redirectUri,
        scope: client.scopes,
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(secrets.verifier),
        code_challenge_method: 'S256',
      });
      return { address: address.href, sealed: sealSeed(new TextEncoder().encode(JSON.stringify(begun)), sealedFor, secretKey) };
    },
    async finish(client, sealed, search) {
      const begun = opened(sealed, secretKey);
      if (begun === null || new URLSearchParams(search).get('state') !== begun.state) throw new LoginFault('not_ours');
      const { library, provider } = await reach(client);
      const checks = { pkceCodeVerifier: begun.verifier, expectedState: begun.state, expectedNonce: begun.nonce };
      const tokens = await library
        .authorizationCodeGrant(provider, new URL(`${begun.redirectUri}?${search}`), { ...checks, idTokenExpected: true })
        .catch((error: unknown) => {
          throw new LoginFault(isAway(error) ? 'away' : 'refused', error);
        });
      if (tokens.id_token === undefined) throw new LoginFault('refused');
      return { idToken: tokens.id_token, returnTo: begun.returnTo };
    },
  };
}

function opened(sealed: string | null, secretKey: Uint8Array): Begun | null {
  const bytes = sealed === null ? null : openSeed(sealed, sealedFor, secretKey);
  if (bytes === null) return null;
  const begun = JSON.parse(new TextDecoder().decode(bytes)) as Begun;
  return Date.now() < begun.until ? begun : null;
}

/** Reads the provider's discovery document once an hour, and at once after a change of the configuration. */
function rememberedProvider(): (library: Library, client: OidcClient) => Promise<Configuration> {
  let known: { of: string; at: number; provider: Promise<Configuration> } | null = null;
  return (library, client) => {
    const of = JSON.stringify([client.issuer, client.clientId, client.clientSecret]);
    if (known === null || known.of !== of || performance.now() - known.at > discoveryMs) {
      const made = { of, at: performance.now(), provider: discover(library, client) };
      made.provider.catch(() => {
        if (known === made) known = null;
      });
      known = made;
    }
    return known.provider;
  };
}

async function discover(library: Library, { issuer, clientId, clientSecret }: OidcClient): Promise<Configuration> {
  // The configuration allows plain http to loopback and private hosts only.
  const execute = issuer.startsWith('http:') ? [library.allowInsecureRequests] : [];
  const options = { execute, [library.customFetch]: providerFetch, timeout: callSecs };
  const found = await library.discovery(new URL(issuer), clientId, undefined, library.None(), options);
  const metadata = found.serverMetadata();
  const provider = new library.Configuration(metadata, clientId, undefined, authentication(library, metadata, clientSecret));
  provider[library.customFetch] = providerFetch;
  provider.timeout = callSecs;
  for (const apply of execute) apply(provider);
  return provider;
}

function authentication(library: Library, metadata: { token_endpoint_auth_methods_supported?: string[] }, secret: string | null) {
  if (secret === null) return library.None();
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? library.ClientSecretBasic(secret) : library.ClientSecretPost(secret);
}

/** The provider gave no answer, or says that it cannot answer now. */
class ProviderSilent extends Error {}

/** Within the limits of every call to the provider (IM-32); follows no redirect. */
const providerFetch: CustomFetch = async (url, { method, headers, body, signal }) => {
  const answer = await fetch(url, { method, headers, body: body ?? null, signal: signal ?? null, redirect: 'manual' }).catch(
    (error: unknown) => {
      throw new ProviderSilent('no answer', { cause: error });
    },
  );
  if (answer.status >= 500) throw new ProviderSilent(`status ${answer.status}`);
  const type = answer.headers.get('content-type');
  const hasBody = answer.status >= 200 && ![204, 205, 304].includes(answer.status);
  const content = await readBounded(answer);
  return new Response(hasBody ? content : null, {
    status: answer.status,
    headers: type === null ? {} : { 'content-type': type },
  });
};

function isAway(error: unknown): boolean {
  for (let one = error, left = 6; one instanceof Error && left > 0; one = one.cause, left -= 1)
    if (one instanceof ProviderSilent) return true;
  return false;
}
