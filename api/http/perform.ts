import type { z } from 'zod';
import { answerWithin, limitDatabaseWork } from '../../db/call-limit.js';
import type { Vouched } from '../../db/client.js';
import type { Caller } from '../../domain/caller.js';
import { GatewayError, invalid } from '../../domain/errors.js';
import type { Authenticate, Authenticated } from '../../runtime/authentication.js';
import type { Generation, Services } from '../context.js';
import { checkAccess, checkScopes } from './access.js';
import { type AdmittedSender, authenticated } from './admission.js';
import { type Ahead, along } from './ahead.js';
import { refuseBadText } from './bad-text.js';
import { type JsonBody, maxBodyBytes, readFormBytes, readJsonBody, readRawJsonBytes } from './body.js';
import { parseQuery } from './query.js';
import { Reply } from './reply.js';
import type { Call, Given, Route } from './route.js';
import { parsePart } from './shape.js';

/** What is known of a call before its route's own rules apply. */
export interface Incoming extends AdmittedSender {
  callId: string;
  startedAt: number;
  search: string;
  /** null = a bad percent escape. */
  params: Record<string, string | null>;
  generation: Generation;
  ahead: Ahead | null;
  /** Asked again after a wait. */
  authenticate: Authenticate;
  /** When the credential was checked, by `performance.now()`; null for a call that needs none. */
  admittedAt: number | null;
  signal: AbortSignal;
  /** Time left for database work. */
  databaseMs: number;
  /** Time left until the call must be answered, not counting the arrival of its body (HT-131). */
  answerMs: number;
  whileWaiting: Call<unknown, unknown, unknown>['whileWaiting'];
  /** Set if the call is no HTTP request of its own. */
  body?: Record<string, unknown>;
  isReasonElicited?: boolean;
}

const noBytes = new Uint8Array();
/** A body may take two minutes to arrive. After so long its credential is checked again: it may have been revoked since (IM-72, IM-I4). Sooner, a busy server would read each credential twice. */
const admittedForMs = 500;

/** Steps HT-9 to HT-12: permission, body, path, query, schemas, handler, schema of the answer. */
export async function perform(services: Services, route: Route, who: Authenticated, incoming: Incoming): Promise<Reply> {
  check(services, route, who.caller, incoming);
  route.checkOn?.(services, incoming.request);
  const json = await bodyOf(services, route, incoming, () => readCall(services, route, who, incoming));
  const bytes = json?.bytes ?? (await readUnparsed(services, route, incoming.request));
  const admitted = await stillAdmitted(services, route, who, incoming);
  const call: Call<unknown, unknown, unknown> = {
    ...readCall(services, route, admitted.who, admitted.incoming),
    body: route.body === undefined || json === null ? undefined : parsePart('body', route.body, json.value),
    bodyBytes: bytes,
    bodyKeys: typeof json?.value === 'object' ? Object.keys(json.value ?? {}) : [],
    taken: json?.taken ?? null,
  };
  const handle = () => limitDatabaseWork(incoming.databaseMs, async () => route.handle(call, services));
  return toReply(route, await (isLongPoll(route) ? handle() : answerWithin(incoming.answerMs, handle)));
}

function check(services: Services, route: Route, caller: Caller, incoming: Incoming): void {
  checkAccess(route, caller, incoming);
  checkScopes(services, route, caller);
}

/** What the credential allows now that the body is here. What was declared of the call, such as its channel, stays. */
async function stillAdmitted(services: Services, route: Route, who: Authenticated, incoming: Incoming): Promise<Admitted> {
  const { admittedAt } = incoming;
  if (admittedAt === null || performance.now() - admittedAt < admittedForMs) return { who, incoming };
  const generation = services.generation();
  const now = await limitDatabaseWork(incoming.databaseMs, () => incoming.authenticate(incoming, generation));
  check(services, route, now.caller, incoming);
  return { who: { ...now, actor: who.actor }, incoming: { ...incoming, generation, ahead: null } };
}

interface Admitted {
  who: Authenticated;
  incoming: Incoming;
}

function readCall(services: Services, route: Route, who: Authenticated, incoming: Incoming): WithoutBody {
  return {
    ...who,
    params: parseParams(route, incoming.params),
    query: route.query === undefined ? undefined : parseQuery(route.query, incoming.search),
    callId: incoming.callId,
    generation: incoming.generation,
    ahead: incoming.ahead,
    signal: incoming.signal,
    sender: incoming,
    startedAt: incoming.startedAt,
    whileWaiting: incoming.whileWaiting,
    authenticate: (text: string) =>
      authenticated(incoming.authenticate, { ...incoming, credential: { text, isCookie: false } }, services.generation()),
    recheck: () => callerNow(services, route, incoming),
    recheckBeside: async <T>(read: (db: Vouched) => Promise<T>): Promise<[Caller, T]> => {
      const { send, take } = along(read);
      const caller = await callerNow(services, route, incoming, send);
      return [caller, await (take() ?? read(services.database))];
    },
    invoke: (inner: Route, given: Given) => invoke(services, inner, incoming, given),
    isReasonElicited: incoming.isReasonElicited === true,
  };
}

async function callerNow(
  services: Services,
  route: Route,
  incoming: Incoming,
  beside?: Parameters<Authenticate>[2],
): Promise<Caller> {
  const { caller } = await incoming.authenticate(incoming, services.generation(), beside);
  checkScopes(services, route, caller);
  return caller;
}

/** A preflight waits for its plan, but clients allow it no more time than other calls (HT-131). */
const isLongPoll = ({ longPoll }: Route) => longPoll !== undefined && longPoll !== 'preflight';

/** All database work of a call that was not an HTTP request of its own (OP-70), and the whole of it. */
const invoked = { databaseMs: 4000, answerMs: 24_000 };

async function invoke(services: Services, route: Route, incoming: Incoming, given: Given): Promise<Reply> {
  const { params = {}, query = {}, body = {}, isReasonElicited = false, through, signal } = given;
  const generation = services.generation();
  const who = await limitDatabaseWork(invoked.databaseMs, () => incoming.authenticate(incoming, generation));
  const search = new URLSearchParams(query).toString();
  const asked = { ...incoming, params, search, body, isReasonElicited, signal, generation, ahead: null };
  const startedAt = performance.now();
  const call = { ...asked, ...invoked, startedAt, admittedAt: startedAt };
  return perform(services, route, { ...who, actor: { ...who.actor, ...through } }, call);
}

async function bodyOf(
  services: Services,
  route: Route,
  { body: given, request }: Incoming,
  callWithoutBody: () => WithoutBody,
): Promise<JsonBody | null> {
  const { body } = route;
  if (body === undefined) return null;
  if (given === undefined) return readBody(services, { ...route, body }, request, callWithoutBody);
  refuseBadText(body, given);
  return { value: given, bytes: Buffer.from(JSON.stringify(given)), taken: null };
}

type WithoutBody = Omit<Call<unknown, unknown, unknown>, 'body' | 'bodyBytes' | 'bodyKeys' | 'taken'>;

async function readBody(
  services: Services,
  route: Route & { body: z.ZodType },
  request: Incoming['request'],
  callWithoutBody: () => WithoutBody,
): Promise<JsonBody> {
  const limitBytes = limitOf(services, route);
  try {
    const { bodyOptional: optional = false, anyText = false, takeBytes: take = null } = route;
    return await readJsonBody(request, { limitBytes, optional, checked: anyText ? null : route.body, take });
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'payload.too_large' && route.onTooLarge !== undefined) {
      const declared = Number(request.headers['content-length'] ?? limitBytes + 1);
      await route.onTooLarge({ ...callWithoutBody(), bodyBytes: noBytes, bodyKeys: [], taken: null }, services, declared);
    }
    throw error;
  }
}

async function readUnparsed(services: Services, route: Route, request: Incoming['request']): Promise<Uint8Array> {
  if (route.form !== undefined) return readFormBytes(request, limitOf(services, route));
  return route.rawJson === undefined ? noBytes : readRawJsonBytes(request, limitOf(services, route));
}

function limitOf(services: Services, { bodyLimit: limit = maxBodyBytes }: Route): number {
  return typeof limit === 'number' ? limit : limit(services.config());
}

function parseParams(route: Route, params: Incoming['params']): unknown {
  for (const [name, value] of Object.entries(params)) {
    if (value === null) throw invalid(`${name} has a bad percent escape`, `path.${name}`);
    if (value.includes('\0')) throw invalid(`${name} must not hold U+0000`, `path.${name}`);
  }
  return route.params === undefined ? undefined : parsePart('params', route.params, params);
}

/** Throws if the answer breaks its own schema or the status was not declared: both are bugs. */
function toReply(route: Route, outcome: unknown): Reply {
  const reply = outcome instanceof Reply ? outcome : new Reply(route.status, { kind: 'value', value: outcome });
  const isOther = reply.status !== route.status && reply.status < 400;
  if (isOther && !route.alsoStatuses?.includes(reply.status as 200) && !route.alsoEmpty?.[reply.status as 200])
    throw new Error(`${route.operationId} answers an undeclared ${reply.status}`);
  if (reply.body.kind !== 'value') return reply;
  const chunks = [JSON.stringify(route.response.parse(reply.body.value))];
  return new Reply(reply.status, { kind: 'json', chunks }, reply.headers);
}
