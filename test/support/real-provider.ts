import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import { type Browser, openBrowser } from './browser.js';

export interface RealProvider {
  issuer: string;
  /** The ID token that a browser gets that logs in as this account and agrees (authorization code with PKCE). */
  logIn(account: string): Promise<string>;
  /** Opens an authorize address as this account, and answers where the browser is sent at last, without going there. */
  visit(address: string, account: string): Promise<string>;
  /** Types the code of a device login, and consents or refuses. */
  allowDevice(address: string, account: string, agrees?: boolean): Promise<void>;
  /** The grant types of tokens that were given, and `refused <grant type>` for others. */
  grants: string[];
  /** The paths that were called. */
  calls: string[];
  /** While set, every connection is broken. */
  away: boolean;
  /** Revokes everything that was granted to an account. */
  revoke(account: string): Promise<void>;
  close(): Promise<void>;
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const redirectUri = 'http://127.0.0.1/done';

/** A full OpenID provider that takes any account and password; `groups` are everybody's. */
export async function startRealProvider(groups: string[], over: Configuration = {}): Promise<RealProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, await configuration(groups, over));
  const handle = provider.callback();
  const given = new Map<string, Set<string>>();
  const real: RealProvider = {
    issuer,
    grants: [],
    calls: [],
    away: false,
    logIn: (account) => logIn(issuer, account),
    visit: (address, account) => visit(openBrowser(), address, account, issuer),
    allowDevice: (address, account, agrees = true) => allowDevice(address, account, agrees),
    async revoke(account) {
      for (const id of given.get(account) ?? []) await provider.Grant.find(id).then((grant) => grant?.destroy());
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  provider.on('grant.success', (ctx) => real.grants.push(String(ctx.oidc.params?.grant_type)));
  provider.on('grant.error', (ctx) => real.grants.push(`refused ${String(ctx.oidc.params?.grant_type)}`));
  provider.on('grant.success', ({ oidc: { entities } }) => {
    const { accountId = '', grantId = '' } = entities.RefreshToken ?? {};
    given.set(accountId, (given.get(accountId) ?? new Set()).add(grantId));
  });
  server.on('request', (request, response) => {
    real.calls.push(request.url?.split('?')[0] ?? '');
    if (real.away) request.socket.destroy();
    else void handle(request, response);
  });
  return real;
}

async function configuration(groups: string[], over: Configuration): Promise<Configuration> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return {
    clients: [
      {
        client_id: 'svc',
        redirect_uris: [redirectUri, 'http://127.0.0.1/callback', 'http://127.0.0.1/api/console/oidc/callback'],
        grant_types: ['authorization_code', 'refresh_token', ...(over.features?.deviceFlow ? [deviceGrant] : [])],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'own', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'name', 'email', 'groups'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: `${id} of the provider`, email: `${id}@example.net`, groups }),
    }),
    ...over,
  };
}

async function logIn(issuer: string, account: string): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: 'svc',
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    state: 'x',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const at = await visit(openBrowser(), `${issuer}/auth?${query}`, account, issuer);
  const code = new URL(at).searchParams.get('code');
  if (code === null) throw new Error(`no code: ${at}`);
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'svc',
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    }),
  });
  return ((await answer.json()) as { id_token: string }).id_token;
}

/** Logs in and consents wherever asked, until the provider redirects elsewhere or shows a page. */
async function visit(browser: Browser, address: string, account: string, issuer: string): Promise<string> {
  let location: string | null = address;
  for (let step = 0; step < 10 && location?.startsWith(`${issuer}/`); step += 1) {
    const isForm = location.startsWith(`${issuer}/interaction/`);
    const page = isForm ? (await browser(location)).text : '';
    const form: Record<string, string> = page.includes('value="login"')
      ? { prompt: 'login', login: account, password: 'any' }
      : { prompt: 'consent' };
    ({ location } = await browser(location, isForm ? new URLSearchParams(form) : undefined));
  }
  return location ?? '';
}

async function allowDevice(address: string, account: string, agrees: boolean): Promise<void> {
  const browser = openBrowser();
  const { origin } = new URL(address);
  const fields = (page: string) =>
    new URLSearchParams(
      [...page.matchAll(/<input[^>]*name="(\w+)"[^>]*value="([^"]*)"/g)].map(
        ([, name, value]) => [name!, value!] as [string, string],
      ),
    );
  const first = fields((await browser(address)).text);
  const second = fields((await browser(`${origin}/device`, first)).text);
  second.set(agrees ? 'confirm' : 'abort', 'yes');
  const { location } = await browser(`${origin}/device`, second);
  if (location !== null) await visit(browser, location, account, origin);
}
