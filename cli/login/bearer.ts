import type { ProviderSettings } from '../config/provider.js';
import { addressText } from '../config/server.js';
import type { Context, TokenSource } from '../context.js';
import { type CommandFailure, failure } from '../failure.js';
import { isPassing, providerFailure, providerOf, refusalOf } from './provider.js';
import { credentialsFolder, type LoginStore, type StoredLogin, storeOf } from './store.js';
import { fingerprint, loginFrom } from './tokens.js';

interface Place {
  baseUrl: URL;
  ca: string | null;
}

/** After a renewal that failed, how long the old token is used without another try. */
const pauseMs = 30_000;

/** The token of the stored login for each call, renewed when it is about to end (CL-43). */
export function loginBearer(context: Context, settings: ProviderSettings, place: Place): TokenSource {
  const { now } = context.terminal;
  const store = storeOf(credentialsFolder(context.terminal.environment), settings.issuer, settings.clientId);
  const server = addressText(place.baseUrl);
  let login = requireLogin(store, settings, server);
  let quietUntil = 0;
  let renewal: Promise<StoredLogin> | undefined;
  const renewed = async () => {
    try {
      return await renew(context, settings, { ...place, store, server });
    } catch (error) {
      const problem = providerFailure(context, error);
      if (problem.code === 'interrupted' || hasEnded(login, now())) throw problem;
      quietUntil = now() + pauseMs;
      context.output.warn(`the login could not be renewed and ends at ${login.expires_at}: ${problem.message}`);
      return login;
    }
  };
  return async () => {
    if (isFresh(login, now()) || (now() < quietUntil && !hasEnded(login, now()))) return login.token;
    renewal ??= renewed().finally(() => {
      renewal = undefined;
    });
    login = await renewal;
    return login.token;
  };
}

/** The login for a server; `auth_error` when there is none that fits. */
export function requireLogin(store: LoginStore, settings: ProviderSettings, server: string): StoredLogin {
  const logins = store.read()?.logins ?? [];
  const login = logins.find((one) => one.server === server);
  if (login === undefined) {
    const others = logins.map((one) => one.server).join(', ');
    throw failure('auth_error', `not logged in at ${server}${others === '' ? '' : `; only at ${others}`}`, { hint: 'svc login' });
  }
  if (login.made_with === fingerprint(settings)) return login;
  throw failure('auth_error', `${settings.where} has changed since the login`, { hint: 'svc login' });
}

const hasEnded = ({ expires_at }: StoredLogin, now: number) => expires_at !== null && now >= Date.parse(expires_at);

function isFresh(login: StoredLogin, now: number): boolean {
  const at = login.refresh_token === null ? login.expires_at : login.refresh_at;
  return at === null || now < Date.parse(at);
}

/** Under the lock, whoever comes second finds the first one's work done (CL-I7). */
async function renew(
  context: Context,
  settings: ProviderSettings,
  place: Place & { store: LoginStore; server: string },
): Promise<StoredLogin> {
  const { store, server } = place;
  const { limits, now } = context.terminal;
  return store.underLock(
    async () => {
      const login = requireLogin(store, settings, server);
      if (isFresh(login, now())) return login;
      if (login.refresh_token === null) throw endedFailure(context, 'the provider gave nothing to renew it with');
      const fresh = await askAnew(context, settings, place, login).catch((error: unknown) => {
        throw isPassing(error) || refusalOf(error) !== 'invalid_grant'
          ? error
          : endedFailure(context, 'the provider renews it no more');
      });
      const { issuer, client_id, logins } = store.read()!;
      store.write({ issuer, client_id, logins: logins.map((one) => (one.server === server ? fresh : one)) });
      return fresh;
    },
    context.signal,
    limits.loginLockMs,
  );
}

async function askAnew(
  context: Context,
  settings: ProviderSettings,
  { ca, server }: Place & { server: string },
  login: StoredLogin,
) {
  const provider = await providerOf(context, { issuer: settings.issuer, clientId: settings.clientId, ca }, login);
  const { signal, release } = lateSignal(context.signal, context.terminal.limits.renewalGraceMs);
  provider.until(signal);
  try {
    const tokens = await provider.library.refreshTokenGrant(provider.config, login.refresh_token!);
    return loginFrom({ tokens, settings, provider, server, now: context.terminal.now(), previous: login });
  } finally {
    release();
  }
}

/** Aborts `ms` after the signal: a provider takes a refresh token once, so an answer that is nearly there is worth waiting for. */
function lateSignal(signal: AbortSignal, ms: number): { signal: AbortSignal; release(): void } {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    timer = setTimeout(() => late.abort(signal.reason), ms);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  const release = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  return { signal: late.signal, release };
}

const endedFailure = ({ what }: Context, why: string): CommandFailure =>
  failure('auth_error', `${what}: the login has ended: ${why}`, { hint: 'svc login' });
