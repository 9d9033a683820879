import { sha256Hex } from '../../crypto/hash.js';
import { insertAuditEvents } from '../../db/audit.js';
import { lockSubject } from '../../db/subject-lock.js';
import { findSession, revokeToken } from '../../db/tokens.js';
import { forbidden, refusal } from '../../domain/errors.js';
import { prefixOf } from '../../domain/token-rules.js';
import type { Services } from '../context.js';
import { empty, type Reply } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { cookieFormOf, isCrossSite, refuseCrossSite, sessionCookieOf, setCookie } from '../http/session-cookie.js';
import { tokenRevoked } from '../identity/events.js';
import { sessionByCode } from './code.js';
import { openSession, type Session, sourceOf } from './session.js';

type SignInCall = Call<undefined, undefined, { token?: string | undefined; code?: string | undefined }>;

/** `POST /api/console/session` (CO-10, CO-11). */
export async function signIn(call: SignInCall, services: Services): Promise<Reply> {
  const { request } = call.sender;
  const config = services.config();
  const form = cookieFormOf(request, config);
  if (form === null)
    throw refusal('validation.failed', 'a session needs https', 'use https, or localhost on the machine of the server');
  // Another site must not sign a person in as somebody else.
  if (isCrossSite(request, config)) throw forbidden('cross-site call');
  const { code, token } = call.body;
  const session =
    code === undefined ? await sessionByToken(token ?? '', call, services) : await sessionByCode(code, call, services);
  return empty(204, setCookie(form, session.token, session.seconds));
}

async function sessionByToken(token: string, call: SignInCall, { database, config }: Services): Promise<Session> {
  const who = await call.authenticate(token);
  const source = sourceOf(who);
  return database.transaction((tx) => openSession(tx, who.actor, source, config().console.sessionSecs));
}

/** `DELETE /api/console/session` (CO-12): also without a session, or after its end. */
export async function signOut(call: Call<undefined, undefined, undefined>, services: Services): Promise<Reply> {
  const { request, address } = call.sender;
  const config = services.config();
  const form = cookieFormOf(request, config);
  const cookie = sessionCookieOf(request, config);
  if (form === null || cookie === null) return empty(204);
  refuseCrossSite(request, config);
  const prefix = prefixOf(cookie.text);
  await services.database.transaction(async (tx) => {
    const session = prefix === null ? undefined : await findSession(tx, prefix, sha256Hex(cookie.text));
    if (session === undefined) return;
    await lockSubject(tx, 'user', session.subjectId);
    if ((await revokeToken(tx, session.id)) === undefined) return;
    const actor = { id: session.subjectId, type: 'user', tokenId: session.id, ...address } as const;
    await insertAuditEvents(tx, [tokenRevoked(actor, session, 'signed_out')]);
  });
  return empty(204, setCookie(form, '', 0));
}
