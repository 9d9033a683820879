import { readJson } from '../../lib/json/read.js';
import { objectText } from '../../lib/json/write.js';
import { visible } from '../../lib/visible.js';
import type { ProviderSettings } from '../config/provider.js';
import { addressText } from '../config/server.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { loginByBrowser } from '../login/browser.js';
import { loginByDevice } from '../login/device.js';
import { discoverProvider, type Provider, providerFailure } from '../login/provider.js';
import { brokenLogin, credentialsFolder, type LoginStore, type StoredLogin, storeOf } from '../login/store.js';
import { loginFrom, type Tokens } from '../login/tokens.js';
import { hasBrowser } from '../open-page.js';
import { showInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';

interface LoginOptions {
  device?: boolean;
  browser?: boolean;
  timeout?: number;
}

/** `svc login` (CL-40 to CL-44). Nothing is kept that the server refuses. */
export async function login(context: Context, _: readonly string[], options: LoginOptions): Promise<Answer> {
  if (options.device === true && options.browser === false)
    throw failure('usage', '--device and --no-browser cannot be used together');
  const settings = context.settings();
  const { credential, baseUrl, ca } = settings;
  if (credential.kind === 'token')
    throw failure('config_error', `${settings.source} is used instead of a login`, { hint: 'remove it, then svc login' });
  await context.admit();
  const store = storeOf(
    credentialsFolder(context.terminal.environment),
    credential.provider.issuer,
    credential.provider.clientId,
  );
  await checkPlace(context, store);
  const provider = await discoverProvider(context, credential.provider, ca);
  const made = await logInAt(context, provider, credential.provider, options)
    .then((tokens) => {
      const now = context.terminal.now();
      return loginFrom({ tokens, settings: credential.provider, provider, server: addressText(baseUrl), now, previous: null });
    })
    .catch((error: unknown) => {
      throw providerFailure(context, error);
    });
  const me = await askServer(context, made, () => keep(context, store, credential.provider, made));
  await keep(context, store, credential.provider, made);
  return answerOf(made, me);
}

/** Runs before the login, which would be in vain if it could not be kept. A broken file will be replaced. */
async function checkPlace({ output, signal, terminal }: Context, store: LoginStore): Promise<void> {
  try {
    store.read();
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.reason !== brokenLogin) throw error;
    output.warn(`${error.message}; it will be replaced`);
  }
  await store.underLock(async () => undefined, signal, terminal.limits.loginLockMs);
}

/** In the browser where there is one and the provider supports it, else by a code. */
async function logInAt(context: Context, provider: Provider, settings: ProviderSettings, options: LoginOptions): Promise<Tokens> {
  const { limits, environment } = context.terminal;
  const { authorization_endpoint, device_authorization_endpoint } = provider.metadata;
  const waitMs = options.timeout === undefined ? null : options.timeout * 1000;
  const byDevice = () => loginByDevice(context, provider, settings, waitMs);
  const hasDevice = device_authorization_endpoint !== undefined;
  if (options.device === true && !hasDevice)
    throw failure('config_error', `${settings.issuer} does not support device login`, { hint: 'svc login without --device' });
  if (authorization_endpoint === undefined && !hasDevice)
    throw failure('config_error', `${settings.issuer} supports neither browser login nor device login`);
  if (options.device === true || authorization_endpoint === undefined) return byDevice();
  const opens = options.browser !== false && hasBrowser(environment, process.platform);
  const orElse = options.browser !== false && hasDevice;
  if (!opens && orElse) return byDevice();
  return (await loginByBrowser(context, provider, settings, { opens, orElse, waitMs: waitMs ?? limits.loginMs })) ?? byDevice();
}

/** The server's answer to the new token. When the server cannot be asked now, the login is kept all the same. */
async function askServer(context: Context, made: StoredLogin, keepIt: () => Promise<void>): Promise<string> {
  try {
    return (await context.clientWith(async () => made.token).call({ method: 'GET', path: ['api', 'me'] })).text;
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const { code, message, reason, exit } = error;
    if (['network_error', 'server_error', 'service.unavailable'].includes(code)) {
      await keepIt();
      throw new CommandFailure(code, message, {
        hint: 'your login was saved, but the server could not be reached; try: svc whoami',
        reason,
        exit,
      });
    }
    if (!code.startsWith('auth.')) throw error;
    const hint =
      'the provider let you in, the server did not: are issuer, client_id and bearer those that it expects (docs/oidc.md)?';
    throw new CommandFailure(code, `${message}; the login is not kept`, { hint, reason, exit });
  }
}

async function keep(
  { signal, terminal }: Context,
  store: LoginStore,
  settings: ProviderSettings,
  made: StoredLogin,
): Promise<void> {
  const others = () => {
    try {
      return store.read()?.logins.filter(({ server }) => server !== made.server) ?? [];
    } catch {
      return [];
    }
  };
  await store.underLock(
    async () => store.write({ issuer: settings.issuer, client_id: settings.clientId, logins: [...others(), made] }),
    signal,
    terminal.limits.loginLockMs,
  );
}

function answerOf(made: StoredLogin, me: string): Answer {
  const subject = readJson(me).get('subject_id')?.string() ?? null;
  const { server, expires_at, refresh_token } = made;
  const data = { subject_id: subject, server, expires_at, renews: refresh_token !== null };
  const until = expires_at === null ? '' : ` until ${showInstant(expires_at)}`;
  return {
    data: objectText({ ...data, me }, { me }),
    human: () => `logged in at ${visible(server)} as ${visible(subject ?? '?')}\n`,
    ...(refresh_token === null ? { note: `the provider renews nothing: the login is good${until}` } : {}),
  };
}
