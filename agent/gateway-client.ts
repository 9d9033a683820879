import * as http from 'node:http';
import * as https from 'node:https';
import { networkFault } from './network-fault.js';

export interface GatewayAnswer {
  status: number;
  /** Parsed JSON; null when an error answer had no readable body. */
  body: unknown;
  retryAfterMs: number | null;
  /** The header `Date`. */
  date: string | null;
}

/** The gateway's reason for a refusal, if any. */
export function saidBy({ body }: GatewayAnswer): string | null {
  const said = (body as { error?: unknown } | null)?.error;
  return typeof said === 'string' ? said.slice(0, 200) : null;
}

/** Words a refusal by its status, with the gateway's reason. */
export function refusalText(answer: GatewayAnswer): string {
  const said = saidBy(answer);
  return said === null ? `status ${answer.status}` : `status ${answer.status}: ${said}`;
}

export interface CallOptions {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** A body in UTF-8 pieces, sent as they come; it can be read more than once. */
export type StreamedBody = Iterable<string | Uint8Array>;

export interface GatewayClient {
  /** Throws GatewayUnreachable when no readable answer came, or the signal's reason when it aborted. */
  get(path: string, options: CallOptions): Promise<GatewayAnswer>;
  post(path: string, body: object | StreamedBody | null, options: CallOptions): Promise<GatewayAnswer>;
  close(): void;
}

/** No answer, or one that is not JSON; `message` never holds an address. */
export class GatewayUnreachable extends Error {
  /** Of the operating system or of Node, where there is one. */
  readonly code: string | null;

  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

export interface GatewayClientOptions {
  /** Without a trailing slash; its path prefixes every call's. */
  url: string;
  /** Null: calls have no credential. */
  token: string | null;
  ca: string | null;
  userAgent: string;
  connectTimeoutMs: number;
}

/** A day; timers longer than 24 days fire immediately. */
const MAX_RETRY_AFTER_SECS = 86_400;
const MAX_ANSWER_LENGTH = 160 * 1024 * 1024;

/**
 * A client with kept-alive sockets and no delay for small packets. Repeats a call once when the server had just closed its
 * socket.
 */
export function createGatewayClient(options: GatewayClientOptions): GatewayClient {
  const secure = options.url.startsWith('https:');
  const settings = { keepAlive: true, maxSockets: 256, scheduling: 'lifo' as const, noDelay: true };
  const agent = secure ? new https.Agent({ ...settings, ...(options.ca ? { ca: options.ca } : {}) }) : new http.Agent(settings);
  const credential = options.token === null ? {} : { authorization: `Bearer ${options.token}` };
  const base = { agent, headers: { ...credential, accept: 'application/json', 'user-agent': options.userAgent } };
  const call = async (method: string, path: string, body: object | StreamedBody | null, callOptions: CallOptions) => {
    const open = () => {
      const start = secure ? https.request : http.request;
      return start(`${options.url}${path}`, { ...base, method, headers: { ...base.headers, ...bodyHeaders(body) } });
    };
    try {
      return await exchange(open(), body, options.connectTimeoutMs, callOptions);
    } catch (error) {
      if (!(error instanceof StaleSocket)) throw error;
      return await exchange(open(), body, options.connectTimeoutMs, callOptions);
    }
  };
  return {
    get: (path, callOptions) => call('GET', path, null, callOptions),
    post: (path, body, callOptions) =>
      call('POST', path, body === null || isStreamed(body) ? body : new Buffered(body), callOptions),
    close: () => agent.destroy(),
  };
}

class StaleSocket extends GatewayUnreachable {}

/** A small JSON body, sent with its length in the same packet as the headers. */
class Buffered {
  readonly bytes: Buffer;
  constructor(value: object) {
    this.bytes = Buffer.from(JSON.stringify(value));
  }
}

function isStreamed(body: object): body is StreamedBody {
  return Symbol.iterator in body;
}

function bodyHeaders(body: object | null): http.OutgoingHttpHeaders {
  if (body === null) return {};
  const type = { 'content-type': 'application/json' };
  return body instanceof Buffered ? { ...type, 'content-length': body.bytes.length } : type;
}

function exchange(
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
    const timer = setTimeout(() => fail(new GatewayUnreachable('no answer in time')), options.timeoutMs);
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
  const retryAfterMs = retryAfter >= 0 ? Math.min(retryAfter, MAX_RETRY_AFTER_SECS) * 1000 : null;
  const answer = { status, retryAfterMs, date: response.headers.date ?? null };
  try {
    return { ...answer, body: JSON.parse(text) };
  } catch {
    if (status < 300) throw new GatewayUnreachable('answer is not JSON');
    return { ...answer, body: null };
  }
}
