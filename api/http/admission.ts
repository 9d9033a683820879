import type Koa from 'koa';
import type { Actor } from '../../domain/audit/draft.js';
import type { Caller } from '../../domain/caller.js';
import { refusal } from '../../domain/errors.js';
import { noOrigins } from '../../domain/four-eyes.js';
import type { Authenticate, Authenticated, Beside, Sender } from '../../runtime/authentication.js';
import { addressOf } from '../../runtime/client-address.js';
import { createMeter, type Meter } from '../../runtime/rate-limits/meter.js';
import type { Generation, Services } from '../context.js';
import type { Ahead } from './ahead.js';
import type { Trace } from './send.js';
import { credentialOf, refuseCrossSite } from './session-cookie.js';

/** The sender of a call, before its credential is checked. */
export interface AdmittedSender extends Sender {
  meter: Meter;
  trace: Trace;
  /** Throws for a change that a page of another site makes by the cookie (CO-13). */
  checkSite(): void;
}

export function senderOf(ctx: Koa.Context, services: Services, segments: readonly (string | null)[]): AdmittedSender {
  const { limiter } = services;
  const config = services.config();
  const trace = ctx.state as Trace;
  const address = addressOf(ctx.req, config.trustedProxies);
  trace.clientIp = address.clientIp;
  const meter = createMeter({ limiter, config, clientIp: address.clientIp, tell: (headers) => ctx.set(headers) });
  const credential = credentialOf(ctx.req, config, segments[0] === 'api');
  const checkSite = () => {
    if (credential?.isCookie) refuseCrossSite(ctx.req, config);
  };
  return { request: ctx.req, credential, address, meter, trace, checkSite };
}

/** The caller of a public route. */
const stranger: Authenticated = {
  caller: { kind: 'user', id: 'anonymous', roles: [], groups: [], memberOf: [], origins: noOrigins, tokenId: null },
  actor: { id: 'anonymous', type: 'user', tokenId: null, peerIp: null, clientIp: null, clientIpSource: null } satisfies Actor,
  expiresAt: null,
  word: null,
};

/** Steps HT-3 to HT-7: the address limit, the credential, its limit, and the paths that it may call. */
export async function admit(
  authenticate: Authenticate,
  sender: AdmittedSender,
  call: { generation: Generation; segments: readonly (string | null)[]; limited: boolean; open: boolean; ahead: Ahead | null },
): Promise<Authenticated> {
  if (call.limited) await sender.meter.address();
  if (call.open) return stranger;
  const who = await authenticated(authenticate, sender, call.generation, call.ahead?.send);
  sender.checkSite();
  checkPathKind(who.caller, call.segments);
  return who;
}

/** Steps HT-4 to HT-6: the credential and its limit. `beside` is as `Authenticate` has it. */
export async function authenticated(
  authenticate: Authenticate,
  sender: AdmittedSender,
  generation: Generation,
  beside?: Beside,
): Promise<Authenticated> {
  const who = await authenticate(sender, generation, beside);
  sender.trace.subjectId = who.caller.id;
  await sender.meter.credential(who.caller);
  return who;
}

/** HT-11: agents may call only agent paths, users only the others. */
function checkPathKind(caller: Caller, segments: readonly (string | null)[]): void {
  const forAgents =
    segments[0] === 'api' &&
    (segments.length > 2 ? segments[1] === 'agent' : segments.length === 2 && segments[1] === 'public-key');
  if (caller.kind === 'agent' && !forAgents) throw refusal('auth.forbidden', 'agent tokens cannot access this endpoint');
  if (caller.kind === 'user' && forAgents) throw refusal('auth.forbidden', 'agent token required');
}
