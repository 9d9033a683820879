import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

export interface RealProvider {
  issuer: string;
  /** The ID token that a browser gets that logs in as this account and agrees (authorization code with PKCE). */
  logIn(account: string): Promise<string>;
  close(): Promise<void>;
}

const redirectUri = 'http://127.0.0.1/done';

/** A full OpenID provider that takes any account and password; `groups` are everybody's. */
export async function startRealProvider(groups: string[]): Promise<RealProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'svc', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none', application_type: 'native' }],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'own', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'name', 'email', 'groups'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: `${id} of the provider`, email: `${id}@example.net`, groups }),
    }),
  });
  const handle = provider.callback();
  server.on('request', (request, response) => void handle(request, response));
  return {
    issuer,
    logIn: (account) => logIn(issuer, account),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function logIn(issuer: string, account: string): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const browser = openBrowser();
  const query = new URLSearchParams({
    ...{ client_id: 'svc', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', state: 'x' },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
  });
  let at = await browser(`${issuer}/auth?${query}`);
  for (const form of [{ prompt: 'login', login: account, password: 'any' }, { prompt: 'consent' }] as Record<string, string>[]) {
    if (at.startsWith(redirectUri)) break;
    at = await browser(at, new URLSearchParams(form));
    if (!at.startsWith(redirectUri)) at = await browser(at);
  }
  const code = new URL(at).searchParams.get('code');
  if (code === null) throw new Error(`no code: ${at}`);
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'authorization_code', client_id: 'svc', redirect_uri: redirectUri, code, code_verifier: verifier },
    }),
  });
  return ((await answer.json()) as { id_token: string }).id_token;
}

/** Calls with cookies, and answers where a redirect leads. */
function openBrowser() {
  const cookies = new Map<string, string>();
  return async (url: string, body?: URLSearchParams): Promise<string> => {
    const answer = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`${url}: ${answer.status} without a redirect`);
    return new URL(location, url).href;
  };
}
