import Koa from 'koa';
import compress from 'koa-compress';
import { limitDatabaseWork, outsideDatabaseWork, remainingMs } from '../../db/call-limit.js';
import { GatewayError, invalid, noSuchPath, refusal } from '../../domain/errors.js';
import type { Authenticate } from '../../runtime/authentication.js';
import { httpStatus } from '../../runtime/http-errors.js';
import type { Generation, Services } from '../context.js';
import { admit, senderOf } from './admission.js';
import type { Ahead } from './ahead.js';
import { recordCall } from './call-record.js';
import { recordedCall } from './call-spans.js';
import { withDeclaredChannel } from './channel.js';
import { perform } from './perform.js';
import type { Reply } from './reply.js';
import type { Route } from './route.js';
import { createRouter, type Match, type Router, splitPath, splitTarget } from './router.js';
import { HeadersTooLarge, newTrace, send, sendError, type Trace } from './send.js';
import { cookieFormOf, setCookie } from './session-cookie.js';

const maxHeaders = 100;
/** All database work of one call (OP-70). The time to receive its body does not count. */
const databaseWorkMs = 4000;
/** All of a call but the arrival of its body: below the 25 s of HT-131. */
const callMs = 24_000;
/** Smaller answers are not compressed: it would cost more than it saves. */
const compressFromBytes = 4096;

export interface AppOptions {
  services: Services;
  authenticate: Authenticate;
  routes: readonly Route[];
  readOnlyPaths: readonly string[];
  /** How long a caller may take nothing of an answer. */
  stallMs: number;
}

/** The whole HTTP surface. Every answer leaves through here and carries the headers of HT-21 to HT-24. */
export function createApp(options: AppOptions): Koa {
  const { services } = options;
  const router = createRouter(options.routes, options.readOnlyPaths);
  const compressed = compress({ threshold: compressFromBytes });
  const app = new Koa();
  app.on('error', (error: unknown) => services.log.debug({ error: String(error) }, 'answer not sent'));
  app.use(async (ctx, next) => {
    const startedAt = performance.now();
    const trace = newTrace();
    ctx.state = trace;
    ctx.set('x-svc-version', services.version);
    ctx.set('x-request-id', trace.callId);
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Content-Type-Options', 'nosniff');
    const { tracing } = services;
    if (tracing.isOn) trace.traceId = await recordedCall(tracing, { http: ctx.req, trace, startedAt }, next, () => ctx.status);
    else await next();
    if (services.lifecycle.draining) ctx.set('Connection', 'close');
    recordCall(services, trace, ctx, performance.now() - startedAt);
  });
  app.use((ctx, next) => (wantsCompression(ctx) ? compressed(ctx, next) : next()));
  app.use((ctx) => answer(ctx, options, router));
  return app;
}

/** HT-29. The library refuses a caller who accepts no encoding; that caller gets an uncompressed answer instead. */
function wantsCompression(ctx: Koa.Context): boolean {
  if (ctx.headers['accept-encoding'] === undefined) return false;
  const chosen = ctx.acceptsEncodings(['gzip', 'br', 'deflate', 'identity']);
  return chosen !== false && chosen !== 'identity';
}

async function answer(ctx: Koa.Context, options: AppOptions, router: Router): Promise<void> {
  try {
    send(ctx, options.services, await dispatch(ctx, options, router), options.stallMs);
  } catch (error) {
    sendError(ctx, options.services, error);
  }
}

/** Steps HT-1 to HT-8; `perform` does the rest. */
async function dispatch(ctx: Koa.Context, options: AppOptions, router: Router): Promise<Reply> {
  if (ctx.req.rawHeaders.length > 2 * maxHeaders) throw new HeadersTooLarge(maxHeaders);
  const { services } = options;
  const { path, search } = splitTarget(ctx.req.url ?? '/');
  const segments = splitPath(path);
  const generation = services.generation();
  const match = router.find(ctx.method, segments);
  if (match.kind === 'route') ctx.set(match.route.headersFor?.(services, ctx.req) ?? {});
  const ahead = match.kind === 'route' ? (match.route.readsAhead?.of(match.params.id, services.notifications) ?? null) : null;
  const asked = { segments, search, generation, match, ahead };
  return performMatch(ctx, options, asked).finally(() => ahead?.close());
}

interface Asked {
  segments: readonly (string | null)[];
  search: string;
  generation: Generation;
  match: Match;
  ahead: Ahead | null;
}

async function performMatch(
  ctx: Koa.Context,
  { services, authenticate }: AppOptions,
  { segments, search, generation, match, ahead }: Asked,
): Promise<Reply> {
  const trace = ctx.state as Trace;
  // Also of a call that is refused or finds no database. What is no route counts as one only with a credential, so that strangers make few series.
  if (match.kind === 'route') trace.template = match.route.path;
  const sender = senderOf(ctx, services, segments);
  const startedAt = performance.now();
  const limited = match.kind !== 'route' || match.route.unlimited !== true;
  const open = isOpen(match, services);
  const admission = { generation, segments, limited, open, ahead };
  const admitted = async () => ({
    who: await admit(authenticate, sender, admission),
    // The time of fetching an identity provider's keys is no time of the database.
    databaseMs: remainingMs(databaseWorkMs),
  });
  const { who, databaseMs } = await limitDatabaseWork(databaseWorkMs, admitted).catch((error: unknown) => {
    if (sender.credential?.isCookie) ctx.set(forgetCookie(ctx, services, error));
    throw error;
  });
  if (match.kind !== 'route') return refuseRoute(ctx, match, segments);
  trace.longPoll = match.route.longPoll ?? null;
  return perform(services, match.route, withDeclaredChannel(who, ctx.req), {
    ...sender,
    authenticate,
    admittedAt: open ? null : performance.now(),
    callId: trace.callId,
    startedAt,
    search,
    params: match.params,
    generation,
    ahead,
    signal: goneSignal(ctx),
    databaseMs,
    answerMs: callMs - (performance.now() - startedAt),
    whileWaiting: (wait, onLate) => countWaiting(services, trace, wait, onLate),
  });
}

/** Clears the cookie of an ended session; otherwise each call with it would count as a guess (OP-33). */
function forgetCookie(ctx: Koa.Context, services: Services, error: unknown): Record<string, string> {
  const form = error instanceof GatewayError && httpStatus(error.code) === 401 ? cookieFormOf(ctx.req, services.config()) : null;
  return form === null ? {} : setCookie(form, '', 0);
}

/** Whether the route needs no credential (HT-2, HT-98). */
function isOpen(match: Match, services: Services): match is Extract<Match, { kind: 'route' }> {
  if (match.kind !== 'route') return false;
  return match.route.access === 'public' || match.route.openWhen?.(services.config()) === true;
}

function refuseRoute(ctx: Koa.Context, match: Exclude<Match, { kind: 'route' }>, segments: readonly (string | null)[]): never {
  (ctx.state as Trace).template = match.kind === 'none' ? '<unmatched>' : match.template;
  if (match.kind === 'none') {
    throw segments.includes(null) ? invalid('the path has a bad percent escape', 'path') : noSuchPath();
  }
  ctx.set('Allow', match.allow);
  if (match.readOnly) throw refusal('config.read_only', 'managed in server.toml; edit the file and reload');
  throw refusal('route.method_not_allowed', 'method not allowed');
}

function goneSignal(ctx: Koa.Context): AbortSignal {
  const gone = new AbortController();
  const onClose = () => {
    if (!ctx.res.writableFinished) gone.abort();
  };
  ctx.res.once('close', onClose);
  // It may have left while its credential was checked.
  if (ctx.res.destroyed || ctx.req.socket.destroyed) onClose();
  return gone.signal;
}

async function countWaiting<T>(
  services: Services,
  trace: Trace,
  wait: () => Promise<T>,
  onLate: ((value: T) => void) | undefined,
): Promise<T> {
  const startedAt = performance.now();
  const kind = trace.longPoll ?? 'request';
  services.metrics.longPolls.inc({ kind });
  try {
    return await outsideDatabaseWork(wait, onLate);
  } finally {
    services.metrics.longPolls.dec({ kind });
    trace.waitedMs += performance.now() - startedAt;
  }
}
