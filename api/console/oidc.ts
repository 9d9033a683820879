import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config/types.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import { GatewayError, noSuchPath } from '../../domain/errors.js';
import { refuseCredential } from '../../runtime/authentication.js';
import { cookieOf } from '../../runtime/credential.js';
import { LoginFault, loginSecs, type OidcClient } from '../../runtime/oidc/code-login.js';
import { oidcInForce } from '../../runtime/oidc/in-force.js';
import type { Services } from '../context.js';
import { plainPage } from '../http/plain-page.js';
import { empty, Reply } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { type CookieForm, cookieFormOf, loginCookieOf, ownAddress, setCookie } from '../http/session-cookie.js';
import { openSession, sourceOf } from './session.js';

type OidcCall<Q> = Call<undefined, Q, undefined>;

/** The provider that people sign in at; null where the plan or the configuration has none (IM-30). */
export function oidcClient(config: Config): OidcClient | null {
  const oidc = oidcInForce(config);
  return oidc === null || oidc.clientId === null ? null : { ...oidc, clientId: oidc.clientId };
}

function requireClient(config: Config): OidcClient {
  const client = oidcClient(config);
  if (client === null) throw noSuchPath();
  return client;
}

/** `GET /api/console/oidc/start` (CO-14). */
export async function startLogin(
  call: OidcCall<{ return_to?: string | undefined }>,
  { config, codeLogin, log }: Services,
): Promise<Reply> {
  const { request } = call.sender;
  const current = config();
  const client = requireClient(current);
  const form = cookieFormOf(request, current);
  if (form === null) return failed(400, 'Signing in needs https.');
  try {
    const begin = () => codeLogin.begin(client, redirectUri(request, current), consolePath(call.query.return_to));
    const { address, sealed } = await outsideDatabaseWork(begin);
    return empty(302, { Location: address, ...setCookie(loginCookieOf(form), sealed, loginSecs) });
  } catch (error) {
    return failedBy(error, log);
  }
}

/** `GET /api/console/oidc/callback` (CO-14): checks everything that the browser brings, then signs in by CO-10. */
export async function finishLogin(call: OidcCall<undefined>, services: Services): Promise<Reply> {
  const { config, codeLogin, database, authFailures, log } = services;
  const { request } = call.sender;
  const client = requireClient(config());
  const form = cookieFormOf(request, config());
  if (form === null) return failed(400, 'Signing in needs https.');
  try {
    const sealed = cookieOf(request, loginCookieOf(form).name)?.text ?? null;
    const { idToken, returnTo } = await outsideDatabaseWork(() => codeLogin.finish(client, sealed, searchOf(request)));
    const who = await call.authenticate(idToken);
    const session = await database.transaction((tx) => openSession(tx, who.actor, sourceOf(who), config().console.sessionSecs));
    return empty(302, { Location: returnTo, 'Set-Cookie': [...cookies(form, session)] });
  } catch (error) {
    if (error instanceof LoginFault && error.kind !== 'away') {
      const refused = { code: 'auth.oidc_failed', text: 'invalid token', cause: `login_${error.kind}` } as const;
      const counted = await refuseCredential({ ...refused, subject: null, tokenPrefix: null }, call.sender, authFailures.record);
      if (counted.code === 'rate.limited') throw counted;
    }
    return failedBy(error, log);
  }
}

function* cookies(form: CookieForm, { token, seconds }: { token: string; seconds: number }): Generator<string> {
  yield setCookie(form, token, seconds)['Set-Cookie'];
  yield setCookie(loginCookieOf(form), '', 0)['Set-Cookie'];
}

const searchOf = ({ url = '' }: IncomingMessage) => url.slice(url.indexOf('?') + 1 || url.length);

const redirectUri = (request: IncomingMessage, config: Config) => `${ownAddress(request, config)}/api/console/oidc/callback`;

/** A path below the console, whatever was asked for. */
export function consolePath(asked: string | undefined): string {
  const home = '/console/';
  const base = 'http://console.invalid';
  if (asked === undefined || !/^\/console\/[\x21-\x5b\x5d-\x7e]*$/.test(asked) || !URL.canParse(asked, base)) return home;
  const { origin, pathname, search } = new URL(asked, base);
  return origin === base && pathname.startsWith(home) ? `${pathname}${search}` : home;
}

const sentences: Record<LoginFault['kind'], string> = {
  not_ours: 'This sign-in was not begun in this browser, or too long ago.',
  refused: 'The identity provider did not sign you in.',
  away: 'The identity provider cannot be reached at the moment.',
};

function failedBy(error: unknown, log: Services['log']): Reply {
  if (error instanceof LoginFault) {
    const { cause } = error;
    log.warn(
      { kind: error.kind, error: cause instanceof Error ? cause.message : undefined },
      'a login at the identity provider failed',
    );
    return failed(error.kind === 'away' ? 503 : 400, sentences[error.kind]);
  }
  if (!(error instanceof GatewayError) || error.code === 'rate.limited' || error.code === 'service.unavailable') throw error;
  return failed(403, 'The identity provider knows you, but this gateway does not let you in. Ask whoever runs it.');
}

/** The page holds no text from the provider or the address. */
const failed = (status: number, sentence: string) =>
  new Reply(
    status,
    {
      kind: 'text',
      contentType: 'text/html; charset=utf-8',
      text: plainPage('Not signed in', `<p>${sentence}</p>\n<p><a href="/console/">Try again</a></p>\n`),
    },
    status === 503 ? { 'Retry-After': '5' } : {},
  );
