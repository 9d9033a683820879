import type * as http from 'node:http';
import { networkFault } from './network-fault.js';

export interface GatewayAnswer {
  status: number;
  /** Parsed JSON; null when an error answer had no readable body. */
  body: unknown;
  /** How long the gateway wants to be left alone. */
  retryAfterMs: number | null;
  /** The header `Date`. */
  date: string | null;
}

export interface CallOptions {
  /** Without an answer for so long, a call fails; with `longestMs`, without any progress of its body or its answer. */
  timeoutMs: number;
  /** How long a call may take that makes progress all the while. */
  longestMs?: number;
  signal?: AbortSignal | undefined;
}

/** A body in UTF-8 pieces, sent as they come; it can be read more than once. */
export type StreamedBody = Iterable<string | Uint8Array>;

/** No answer, or one that is not JSON; `message` never holds an address. */
export class GatewayUnreachable extends Error {
  /** Of the operating system or of Node, where there is one. */
  readonly code: string | null;

  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

/** Of a 429, which is the gateway's own: a day; timers longer than 24 days fire immediately. */
const MAX_RETRY_AFTER_SECS = 86_400;
/** Of any other answer: the page of a proxy may name an hour, and the gateway be back in a minute. */
const MAX_OTHER_RETRY_AFTER_SECS = 30;
const MAX_ANSWER_LENGTH = 160 * 1024 * 1024;

/** The server had just closed the kept-alive socket. */
export class StaleSocket extends GatewayUnreachable {}

/** A small JSON body, sent with its length in the same packet as the headers. */
export class Buffered {
  readonly bytes: Buffer;
  constructor(value: object) {
    this.bytes = Buffer.from(JSON.stringify(value));
  }
}

export function isStreamed(body: object): body is StreamedBody {
  return Symbol.iterator in body;
}

export function bodyHeaders(body: object | null): http.OutgoingHttpHeaders {
  if (body === null) return {};
  const type = { 'content-type': 'application/json' };
  return body instanceof Buffered ? { ...type, 'content-length': body.bytes.length } : type;
}

/** Sends the body and reads the answer. Throws GatewayUnreachable, or the reason of the signal. */
export function exchange(
  request: http.ClientRequest,
  body: object | null,
  connectMs: number,
  options: CallOptions,
): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    const { signal } = options;
    const fail = (error: Error) => {
      finish();
      request.destroy();
      reject(error);
    };
    const { timeoutMs, longestMs } = options;
    const late = () => fail(new GatewayUnreachable('no answer in time'));
    const timer = setTimeout(late, longestMs ?? timeoutMs);
    if (longestMs !== undefined) request.setTimeout(timeoutMs, late);
    const aborted = () => fail(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', aborted);
    };
    request.on('error', (error: NodeJS.ErrnoException) => {
      const { code } = error;
      const why = code === undefined ? 'connection failed' : networkFault(code);
      const stale = request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
      fail(stale ? new StaleSocket(why) : new GatewayUnreachable(why, code ?? null));
    });
    request.on('response', (response) => {
      readAnswer(response).then((answer) => {
        finish();
        resolve(answer);
      }, fail);
    });
    limitConnecting(request, connectMs, fail);
    signal?.addEventListener('abort', aborted, { once: true });
    if (signal?.aborted) return aborted();
    writeBody(request, body).catch(fail);
  });
}

function limitConnecting(request: http.ClientRequest, connectMs: number, fail: (error: Error) => void): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => fail(new GatewayUnreachable('no connection in time')), connectMs);
    const clear = () => clearTimeout(timer);
    socket.once('connect', clear);
    socket.once('close', clear);
  });
}

async function writeBody(request: http.ClientRequest, body: object | null): Promise<void> {
  if (body === null || body instanceof Buffered) {
    request.end(body?.bytes);
    return;
  }
  for (const piece of body as StreamedBody) {
    if (request.destroyed) return;
    if (!request.write(piece)) {
      await new Promise<void>((resolve) => {
        const next = () => {
          request.off('drain', next);
          request.off('close', next);
          resolve();
        };
        request.on('drain', next);
        request.on('close', next);
      });
    }
  }
  request.end();
}

async function readAnswer(response: http.IncomingMessage): Promise<GatewayAnswer> {
  const status = response.statusCode ?? 0;
  let text = '';
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) {
      text += chunk;
      if (text.length > MAX_ANSWER_LENGTH) throw new GatewayUnreachable('answer too large');
    }
  } catch (error) {
    throw error instanceof GatewayUnreachable ? error : new GatewayUnreachable('answer cut off');
  }
  const retryAfter = Number(response.headers['retry-after']);
  const longestSecs = status === 429 ? MAX_RETRY_AFTER_SECS : MAX_OTHER_RETRY_AFTER_SECS;
  const retryAfterMs = retryAfter >= 0 ? Math.min(retryAfter, longestSecs) * 1000 : null;
  const answer = { status, retryAfterMs, date: response.headers.date ?? null };
  try {
    return { ...answer, body: JSON.parse(text) };
  } catch {
    if (status < 300) throw new GatewayUnreachable('answer is not JSON');
    return { ...answer, body: null };
  }
}
