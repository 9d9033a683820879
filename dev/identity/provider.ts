import { generateKeyPairSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider, { type ClientMetadata, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { memoryOf } from './memory.js';
import { codePage, confirmPage, donePage, errorPage, loginPage, send } from './pages.js';

export interface DemoIdentity {
  issuer: string;
  clientId: string;
  /** Who can log in, with what. */
  people: readonly Person[];
  close(): void;
}

export interface Person {
  name: string;
  password: string;
}

const clientId = 'svc-demo';

/** An identity provider for trying `svc login` (DV-14), on this machine only: people of these names, passwords made anew. */
export async function startIdentityProvider(port: number, names: readonly string[]): Promise<DemoIdentity> {
  const issuer = `http://127.0.0.1:${port}`;
  const people = names.map((name) => ({ name, password: randomBytes(9).toString('base64url') }));
  const provider = new Provider(issuer, configuration());
  const handle = provider.callback();
  const server = createServer((request, response) => {
    const answered = request.url?.startsWith('/interaction/')
      ? interact(provider, people, request, response)
      : handle(request, response);
    Promise.resolve(answered).catch(() => send(response, 400, errorPage('This login has ended. Begin again with svc login.')));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { issuer, clientId, people, close };
}

function configuration(): Configuration {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    adapter: memoryOf(),
    clients: [client],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'demo', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'name', 'email'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: id, email: `${id}@example.net` }) }),
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    // So short that a renewal is seen.
    ttl: {
      IdToken: 600,
      AccessToken: 600,
      RefreshToken: 86_400,
      Session: 86_400,
      Grant: 86_400,
      Interaction: 3600,
      DeviceCode: 600,
    },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    renderError: (ctx, { error, error_description: description }) => show(ctx, errorPage(description ?? error)),
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: { enabled: true, allowedPolicy: async (_, client, token) => token.clientId === client.clientId },
      deviceFlow: { enabled: true, ...codePages },
    },
  };
}

const client: ClientMetadata = {
  client_id: clientId,
  client_name: 'svc',
  redirect_uris: ['127.0.0.1', 'localhost'].flatMap((host) => [
    `http://${host}/callback`,
    `http://${host}/api/console/oidc/callback`,
  ]),
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  token_endpoint_auth_method: 'none',
  application_type: 'native',
  id_token_signed_response_alg: 'ES256',
};

const show = (ctx: KoaContextWithOIDC, text: string): void => {
  ctx.type = 'html';
  ctx.body = text;
};

const codePages = {
  userCodeInputSource: async (ctx: KoaContextWithOIDC, form: string, _?: unknown, error?: unknown) =>
    show(ctx, codePage(form, error !== undefined)),
  userCodeConfirmSource: async (ctx: KoaContextWithOIDC, form: string, _client: unknown, _device: unknown, code: string) =>
    show(ctx, confirmPage(form, code)),
  successSource: async (ctx: KoaContextWithOIDC) => show(ctx, donePage),
};

/** The login page. Consent is not asked for: there is one client, and it is ours. */
async function interact(
  provider: Provider,
  people: readonly Person[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, session, grantId, params, uid } = await provider.interactionDetails(request, response);
  if (prompt.name === 'consent') {
    const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const grant = known ?? new provider.Grant({ accountId: session!.accountId, clientId: String(params.client_id) });
    grant.addOIDCScope('openid profile email offline_access');
    return provider.interactionFinished(
      request,
      response,
      { consent: { grantId: await grant.save() } },
      { mergeWithLastSubmission: true },
    );
  }
  const address = `/interaction/${uid}`;
  if (request.method !== 'POST') return send(response, 200, loginPage(address, false));
  const form = await readForm(request);
  const person = people.find(({ name }) => name === form.get('name'));
  if (person === undefined || !isSame(form.get('password') ?? '', person.password))
    return send(response, 401, loginPage(address, true));
  return provider.interactionFinished(
    request,
    response,
    { login: { accountId: person.name } },
    { mergeWithLastSubmission: false },
  );
}

function isSame(given: string, expected: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given.padEnd(64)), Buffer.from(expected.padEnd(64)));
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) {
    text += part;
    if (text.length > 4096) throw new Error('this is no form of ours');
  }
  return new URLSearchParams(text);
}
