import {
  type Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { networkFaults } from '../lib/network-faults.js';

export interface ExchangeCall {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | null;
  agent: Agent;
  /** Puts the full address in the request line, as a forwarding proxy needs it. */
  isForwarded: boolean;
  connectMs: number;
  totalMs: number;
  signal: AbortSignal;
  /** Takes the body of a 2xx part by part, however long it is; `text` is empty then. Each part gives `totalMs` anew. */
  onPart?: ((part: Uint8Array, headers: IncomingHttpHeaders) => Promise<void>) | undefined;
}

export interface ExchangeAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Why no answer came; `isConnection`: the connection failed or broke; `isLate`: the time of the call passed. */
export class NoAnswer extends Error {
  readonly isConnection: boolean;
  readonly isLate: boolean;
  /** Of the operating system or of Node, where there is one. */
  readonly code: string | null;

  constructor(reason: string, isConnection: boolean, { code = null, isLate = false }: NoAnswerDetails = {}) {
    super(reason);
    this.isConnection = isConnection;
    this.isLate = isLate;
    this.code = code;
  }
}

interface NoAnswerDetails {
  code?: string | null;
  isLate?: boolean;
}

/** Refuses longer answers, so that a wrong server cannot fill the memory; six times the server's default limit of results. */
const maxAnswerLength = 64 * 1024 * 1024;

/** One HTTP call; does not follow redirects. Rejects with NoAnswer, or with the signal's reason. */
export function exchange(call: ExchangeCall): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    if (call.signal.aborted) return reject(call.signal.reason);
    const send = call.url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(call.url, {
      method: call.method,
      headers: call.headers,
      agent: call.agent,
      ...(call.isForwarded ? { path: call.url.href } : {}),
    });
    const fail = (error: unknown) => {
      watched.settle();
      reject(call.signal.aborted ? call.signal.reason : error);
    };
    const watched = watch(request, call, fail);
    request.on('error', (error) => fail(asNoAnswer(error)));
    request.on('upgrade', (response, socket) => {
      socket.destroy();
      fail(new NoAnswer(`the server answered ${response.statusCode} to a call that asks for no other protocol`, false));
    });
    request.on('response', (response) => {
      readBody(response, call, watched.goOn).then((text) => {
        watched.settle();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      }, fail);
    });
    request.end(call.body ?? undefined);
  });
}

/** Applies deadlines and cancellation until `settle`; `goOn` begins the time of the whole anew. */
function watch(
  request: ClientRequest,
  call: ExchangeCall,
  fail: (error: unknown) => void,
): { settle: () => void; goOn: () => void } {
  const end = (reason: NoAnswer) => {
    request.destroy(reason);
    // Until it has a socket, as while a proxy opens a tunnel, a request does not tell that it was ended.
    if (request.socket === null) fail(reason);
  };
  const late = () => end(new NoAnswer(`no answer within ${call.totalMs / 1000} s`, false, { isLate: true }));
  const total = setTimeout(late, call.totalMs);
  const connect = setTimeout(() => end(new NoAnswer(`no connection within ${call.connectMs / 1000} s`, true)), call.connectMs);
  const onAbort = () => end(new NoAnswer('cancelled', false));
  call.signal.addEventListener('abort', onAbort, { once: true });
  request.on('socket', (socket) => {
    const connected = () => clearTimeout(connect);
    if (!socket.connecting) return connected();
    socket.once(call.url.protocol === 'https:' ? 'secureConnect' : 'connect', connected);
  });
  const settle = () => {
    clearTimeout(total);
    clearTimeout(connect);
    call.signal.removeEventListener('abort', onAbort);
  };
  return { settle, goOn: () => total.refresh() };
}

async function readBody(response: IncomingMessage, { onPart }: ExchangeCall, goOn: () => void): Promise<string> {
  if (onPart === undefined || response.statusCode !== 200) return readAll(response);
  for await (const part of partsOf(response)) {
    goOn();
    await onPart(part, response.headers);
    goOn();
  }
  return '';
}

/** What fails here is the connection; what fails in `onPart` is told as it is. */
async function* partsOf<T>(response: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* response;
  } catch (error) {
    throw asNoAnswer(error);
  }
}

async function readAll(response: IncomingMessage): Promise<string> {
  const parts: string[] = [];
  let length = 0;
  for await (const part of partsOf<string>(response.setEncoding('utf8'))) {
    parts.push(part);
    length += part.length;
    if (length > maxAnswerLength)
      throw new NoAnswer(`the answer is longer than ${maxAnswerLength / 1024 / 1024} Mi characters`, false);
  }
  return parts.join('');
}

function asNoAnswer(error: unknown): NoAnswer {
  if (error instanceof NoAnswer) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new NoAnswer((code && networkFaults[code]) || code || message, true, { code: code ?? null });
}
