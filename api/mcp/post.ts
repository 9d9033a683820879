import { isUtf8 } from 'node:buffer';
import { limitDatabaseWork } from '../../db/call-limit.js';
import { cancelCall } from '../../db/mcp-calls.js';
import { activateSession } from '../../db/mcp-sessions.js';
import { GatewayError, invalid, refusal } from '../../domain/errors.js';
import { isNestedDeeper } from '../../lib/json/depth.js';
import type { Services } from '../context.js';
import { maxDepth } from '../http/body.js';
import { eventStream } from '../http/event-stream.js';
import { empty, type Reply, rawJson } from '../http/reply.js';
import type { Route } from '../http/route.js';
import { answer, type BareContext, failure } from './answer.js';
import type { HttpCall } from './context.js';
import { takeAnswer } from './elicit.js';
import { begin, fly } from './flight.js';
import { checkAcceptOfPost, versionOf } from './headers.js';
import { initialize } from './initialize.js';
import { methodLabel } from './methods.js';
import { invalidRequest, RpcError, type RpcId, type RpcMessage, type RpcRequest, readMessage, Unanswered } from './rpc.js';
import { sessionOf } from './session.js';
import { opened, streamOf } from './stream.js';

/** `POST /mcp`: its checks in their order, then one message or a batch. */
export async function post(
  call: HttpCall,
  services: Services,
  { routes, commentMs }: { routes: () => readonly Route[]; commentMs: number },
): Promise<Reply> {
  const { headers } = call.sender.request;
  const { streams } = checkAcceptOfPost(headers);
  const session = await sessionOf(services, call.caller, headers);
  const version = versionOf(headers, session?.protocolVersion ?? null);
  const context: BareContext = { call, services, routes, version, session, signal: call.signal };
  const value = parse(call.bodyBytes);
  if (value instanceof RpcError) return json(failure(context, null, value));
  if (Array.isArray(value)) return batch(context, value);
  const message = read(value);
  if (message instanceof Unanswered) return json(failure(context, message.id, message.error));
  if (message.kind !== 'request') return one(context, message);
  count(context, message);
  if (message.method === 'initialize') return initialize(context, message);
  return streams && session !== null ? streamed(context, message, commentMs) : inFull(context, message);
}

const json = (text: string) => rawJson([text]);

function parse(bytes: Uint8Array): unknown {
  const refuse = (message: string) => new RpcError('parse', message, { code: 'validation.failed', hint: 'body' });
  if (!isUtf8(bytes)) return refuse('the body is not valid UTF-8');
  // Checked before parsing: a few MiB of brackets would block the event loop (HD-90).
  if (isNestedDeeper(bytes, maxDepth)) return refuse(`the body is nested deeper than ${maxDepth}`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)) as unknown;
  } catch {
    return refuse('the body is not JSON');
  }
}

function read(value: unknown): RpcMessage | Unanswered {
  try {
    return readMessage(value);
  } catch (error) {
    if (error instanceof Unanswered) return error;
    if (error instanceof RpcError) return new Unanswered(error, null);
    throw error;
  }
}

const count = ({ services }: BareContext, { method }: { method: string }) =>
  services.metrics.mcpRequests.inc({ method: methodLabel(method) });

/** A notification or a response of the client: 202 without a body. */
async function one(context: BareContext, message: Exclude<RpcMessage, RpcRequest>): Promise<Reply> {
  const { services, session } = context;
  if (message.kind === 'notification') {
    count(context, message);
    await notice(context, message);
  } else if (session === null) throw invalid('a response needs a session', 'header.mcp-session-id');
  else await takeAnswer(services, session, message);
  return empty(202);
}

async function notice({ services, session }: BareContext, { method, params }: Extract<RpcMessage, { kind: 'notification' }>) {
  if (session === null) return;
  if (method === 'notifications/initialized') await activateSession(services.database, session.id);
  if (method !== 'notifications/cancelled') return;
  const { requestId } = params;
  if (typeof requestId !== 'string' && typeof requestId !== 'number') return;
  if (await cancelCall(services.database, session.id, JSON.stringify(requestId))) services.metrics.mcpCancels.inc();
}

/** A request that is answered with a body of JSON. One that was cancelled has no response (MC-13). */
async function inFull(context: BareContext, request: RpcRequest): Promise<Reply> {
  const text = await answered(context, request);
  return text === null ? empty(202) : json(text);
}

async function answered(context: BareContext, request: RpcRequest): Promise<string | null> {
  const { services, session, call } = context;
  if (session === null) return answer(context, request, null);
  const key = await begin(services, { session, caller: call.caller, rpcId: request.id, streams: false });
  return fly(services, key, async (flight) => {
    const text = await answer({ ...context, signal: AbortSignal.any([call.signal, flight.signal]) }, request, null);
    return (await flight.endPlain()) ? text : null;
  });
}

/** A request whose answer is a stream. Its work goes on if the client leaves (MC-22). */
async function streamed(context: BareContext, request: RpcRequest, commentMs: number): Promise<Reply> {
  const { services, session, call } = context;
  if (session === null) throw new Error('a stream belongs to a session');
  const key = await begin(services, { session, caller: call.caller, rpcId: request.id, streams: true });
  services.metrics.mcpStreams.inc();
  services.errands.run(async () => {
    try {
      await fly(services, key, async (flight) => {
        await flight.end(await answer({ ...context, signal: flight.signal }, request, flight));
      });
    } catch (error) {
      services.log.warn({ call_id: call.callId, error: String(error) }, 'an MCP answer could not be stored');
    }
  });
  const events = streamOf(services, key, { after: 0, recheck: call.recheck, commentMs });
  return eventStream(opened(key, events));
}

const maxBatch = 20;
/** Of each message: a slow one takes no time from the next. */
const databaseMs = 4000;
/** UTF-16 units of a batch's responses after which no further request is performed (MC-14). One response may have some MiB of its own. */
const fullBatch = 8 * 1024 * 1024;

/** A batch of the older versions: its responses in order (mcp.md section 1). Each message counts against the caller's rate. */
async function batch(context: BareContext, values: readonly unknown[]): Promise<Reply> {
  const refused = batchProblem(context, values);
  if (refused !== null) return json(failure(context, null, invalidRequest(refused)));
  const responses: string[] = [];
  let length = 0;
  for (const [index, value] of values.entries()) {
    const text = await limitDatabaseWork(databaseMs, () =>
      oneOfBatch(context, value, { counts: index > 0, full: length >= fullBatch }),
    );
    if (text === null) continue;
    responses.push(text);
    length += text.length;
  }
  return responses.length === 0 ? empty(202) : json(`[${responses.join(',')}]`);
}

function batchProblem({ version }: BareContext, values: readonly unknown[]): string | null {
  if (version === '2025-06-18') return `protocol version ${version} has no batches`;
  if (values.length === 0) return 'a batch must not be empty';
  return values.length > maxBatch ? `a batch has at most ${maxBatch} messages` : null;
}

async function oneOfBatch(
  context: BareContext,
  value: unknown,
  { counts, full }: { counts: boolean; full: boolean },
): Promise<string | null> {
  const message = read(value);
  if (message instanceof Unanswered) return failure(context, message.id, message.error);
  const id: RpcId | null = message.kind === 'request' ? message.id : null;
  try {
    if (counts) await context.call.sender.meter.credential(context.call.caller);
    if (message.kind !== 'request') {
      await one(context, message);
      return null;
    }
    count(context, message);
    if (message.method === 'initialize') throw invalidRequest('initialize cannot stand in a batch');
    if (full)
      throw refusal('payload.too_large', 'the responses before this one fill the answer', 'send this request again, alone');
    return await answered(context, message);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'validation.failed' && id === null)
      return failure(context, null, invalidRequest(error.message, error.hint));
    return failure(context, id, error);
  }
}
