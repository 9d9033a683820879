import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type Koa from 'koa';
import { isWriteRefused, outageOf } from '../../db/errors.js';
import { GatewayError, refusal } from '../../domain/errors.js';
import { type ErrorBody, errorBody, errorHeaders, httpStatus } from '../../runtime/http-errors.js';
import type { Services } from '../context.js';
import type { JsonChunk, Reply } from './reply.js';
import type { LongPollKind } from './route.js';

/** Larger answers are sent part by part instead of being copied together. */
const joinUpToBytes = 64 * 1024;

/** What a call's log line and metrics need. */
export interface Trace {
  callId: string;
  /** The route template, never the path itself (OP-21). */
  template: string;
  longPoll: LongPollKind | null;
  waitedMs: number;
  subjectId: string | null;
  clientIp: string | null;
  /** Of the request that the call made or moved, where tracing is on. */
  traceId: string | null;
  /** Why the gateway's database did not answer, in a word; null if it did. */
  outage: string | null;
}

/** Of a call that has just arrived. */
export const newTrace = (): Trace => ({
  callId: randomUUID(),
  template: '<unmatched>',
  longPoll: null,
  waitedMs: 0,
  subjectId: null,
  clientIp: null,
  traceId: null,
  outage: null,
});

/** Sent with every page, so that no other page can frame it (HD-93). */
const notFramed = { 'Content-Security-Policy': "frame-ancestors 'none'", 'X-Frame-Options': 'DENY' };

/** HT-1: status 431. */
export class HeadersTooLarge extends GatewayError {
  constructor(maxHeaders: number) {
    super('payload.too_large', `more than ${maxHeaders} headers`, null);
  }
}

/** `stallMs`: how long a caller may take nothing of an answer. */
export function send(ctx: Koa.Context, services: Pick<Services, 'log'>, { status, body, headers }: Reply, stallMs: number): void {
  ctx.status = status;
  if (body.kind === 'text' && body.contentType.startsWith('text/html')) ctx.set(notFramed);
  ctx.set(headers);
  // A stream is silent while it waits, so `untilStalled` limits it instead.
  if (body.kind !== 'stream') breakWhenStalled(ctx, stallMs);
  if (body.kind === 'empty') {
    ctx.body = null;
    // Koa makes any status without a body 204.
    ctx.status = status;
  } else if (body.kind === 'text') {
    ctx.set('Content-Type', body.contentType);
    if (body.isImmutable) ctx.set('Cache-Control', 'private, max-age=31536000, immutable');
    ctx.body =
      typeof body.text === 'string' ? body.text : Buffer.from(body.text.buffer, body.text.byteOffset, body.text.byteLength);
  } else if (body.kind === 'json') {
    sendJson(ctx, body.chunks, (error) => breakOff(ctx, services, error));
  } else if (body.kind === 'stream') {
    ctx.set('Content-Type', body.contentType);
    // What was made must leave at once, and a broken stream must not look complete.
    ctx.compress = false;
    const stalled = () => ctx.res.destroy();
    ctx.body = Readable.from(
      untilStalled(body.parts, stallMs, stalled, (error) => breakOff(ctx, services, error)),
      { objectMode: false },
    );
  }
}

/** The answer has begun, so that nothing else tells the caller that it is not complete. A compressed one would go on waiting for its end. */
function breakOff(ctx: Koa.Context, { log }: Pick<Services, 'log'>, error: unknown): void {
  log.warn({ call_id: (ctx.state as Trace).callId, error: String(error) }, 'answer broken off');
  ctx.res.destroy();
}

/**
 * Uses the socket's timeout, which runs while the client reads nothing. It is cleared once the answer is sent, because the next pipelined call may
 * take long.
 */
function breakWhenStalled({ res, req: { socket } }: Koa.Context, stallMs: number): void {
  res.setTimeout(stallMs, () => void res.destroy());
  res.once('finish', () => {
    if (socket.timeout === stallMs) socket.setTimeout(0);
  });
}

function sendJson(ctx: Koa.Context, chunks: readonly JsonChunk[], onFailure: (error: unknown) => void = () => {}): void {
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  const [first] = chunks;
  if (chunks.length === 1 && typeof first === 'string') {
    ctx.body = first;
    return;
  }
  const parts = chunks.map((chunk) => (typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk));
  const length = parts.reduce((sum, part) => sum + (part instanceof Uint8Array ? part.byteLength : part.bytes), 0);
  const held = parts.filter((part) => part instanceof Uint8Array);
  ctx.body =
    length <= joinUpToBytes && held.length === parts.length
      ? Buffer.concat(held)
      : Readable.from(inOrder(parts, onFailure), { objectMode: false });
  ctx.length = length;
}

/** Breaks the connection when making the next part fails, or when the caller takes none for `stallMs`. */
async function* untilStalled(
  parts: AsyncIterable<string | Uint8Array>,
  stallMs: number,
  onStall: () => void,
  onFailure: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  let stalled: NodeJS.Timeout | undefined;
  try {
    for await (const part of parts) {
      stalled = setTimeout(onStall, stallMs);
      yield typeof part === 'string' ? new TextEncoder().encode(part) : part;
      clearTimeout(stalled);
    }
  } catch (error) {
    onFailure(error);
  } finally {
    clearTimeout(stalled);
  }
}

async function* inOrder(
  parts: readonly Exclude<JsonChunk, string>[],
  onFailure: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (const part of parts) {
      if (part instanceof Uint8Array) yield part;
      else yield* part.read();
    }
  } catch (error) {
    onFailure(error);
  }
}

/** Sends the error object of HT-90. Anything but a `GatewayError` is our bug, and only the log gets its cause (HT-94, AU-10). */
export function sendError(ctx: Koa.Context, services: Services, error: unknown): void {
  const { status, body } = describe(ctx, services, error);
  for (const [name, value] of Object.entries(errorHeaders(status))) if (!ctx.res.hasHeader(name)) ctx.set(name, value);
  ctx.status = status;
  sendJson(ctx, [JSON.stringify(body)]);
}

function describe(ctx: Koa.Context, services: Services, error: unknown): { status: number; body: ErrorBody } {
  const trace = ctx.state as Trace;
  const { callId, template } = trace;
  if (error instanceof GatewayError) {
    if (error.cause !== undefined) trace.outage = outageOf(error.cause);
    const status = error instanceof HeadersTooLarge ? 431 : httpStatus(error.code);
    return { status, body: errorBody(error) };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  services.log.error({ call_id: callId, method: ctx.method, path: template, error: message, stack }, 'unexpected error');
  if (isWriteRefused(error))
    return { status: 503, body: errorBody(refusal('service.unavailable', 'the gateway database does not take this change')) };
  return { status: 500, body: errorBody(refusal('internal', 'internal server error', `request id ${callId}`)) };
}
