import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, refusal } from '../../domain/errors.js';
import { errorBody } from '../../runtime/http-errors.js';

const maxHeaderBytes = 16 * 1024;

/** The server's own refusals (HT-1) have the same form as all others (HT-90, HT-I1). */
export function createHttpServer(handle: (request: IncomingMessage, response: ServerResponse) => void, version: string): Server {
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 15_000,
      requestTimeout: 120_000,
      // Longer than clients keep idle connections, so they close first and lose no call to a race.
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 1000,
      noDelay: true,
      // Node's own refusal of a missing or empty host header would not have our form.
      requireHostHeader: false,
    },
    handle,
  );
  // 0 = as many as fit in the header block. Node would drop the rest silently; the app refuses more than 100.
  server.maxHeadersCount = 0;
  const used = new WeakSet<Socket>();
  server.on('request', ({ socket }: IncomingMessage) => used.add(socket));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // A 408 would be taken for the answer to the call that a client sends just then on a connection opened ahead.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) return closeUnlessUsed(socket, used, server);
    refuse(socket, error.code ?? '', version);
  });
  // Handles these as ordinary calls; Node's default is 417.
  server.on('checkExpectation', handle);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => refuse(socket, 'CONNECT', version));
  return server;
}

/** Keeps a connection on which nothing was sent for as long as one between two calls. */
function closeUnlessUsed(socket: Socket, used: WeakSet<Socket>, server: Server): void {
  const closing = setTimeout(
    () => {
      if (!used.has(socket)) socket.destroy();
    },
    Math.max(0, server.keepAliveTimeout - server.headersTimeout),
  );
  socket.on('close', () => clearTimeout(closing));
}

type Refusal = { status: number; code: ErrorCode; text: string };

function refusalOf(cause: string): Refusal {
  if (cause === 'HPE_HEADER_OVERFLOW')
    return { status: 431, code: 'payload.too_large', text: `more than ${maxHeaderBytes} bytes of headers` };
  if (cause === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, code: 'validation.failed', text: 'the request took too long to arrive' };
  return { status: 400, code: 'validation.failed', text: 'malformed HTTP request' };
}

function refuse(socket: Socket, cause: string, version: string): void {
  if (cause === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, code, text } = refusalOf(cause);
  const body = JSON.stringify(errorBody(refusal(code, text)));
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `x-svc-version: ${version}`,
    `x-request-id: ${randomUUID()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroySoon());
}
