import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One delivery as it came. */
export interface Received {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface ReceiverOptions {
  port: number;
  /** For one request, from its first byte to its last. */
  receiveMs: number;
  signal: AbortSignal;
  /** Called with the address once it listens. */
  onListening(port: number): void;
  /** Judges a delivery: whether it is believed, and whether it was the last to take. */
  onDelivery(received: Received): { verified: boolean; last: boolean };
  /** Called for anything that is not a delivery. */
  onRefused(why: string): void;
}

/** Longer than any body of the gateway. */
const maxBodyBytes = 2 * 1024 * 1024;
/** Each may hold one body. */
const maxConnections = 32;

/** Takes deliveries on 127.0.0.1 until the last one or the signal. Rejects when it cannot listen on the port. */
export async function receiveWebhooks(options: ReceiverOptions): Promise<void> {
  const { port, receiveMs, signal, onRefused } = options;
  const times = { requestTimeout: receiveMs, headersTimeout: receiveMs, connectionsCheckingInterval: Math.min(1000, receiveMs) };
  const server = createServer(times);
  server.maxConnections = maxConnections;
  try {
    await new Promise<void>((resolve, reject) => {
      server.on('request', (request, response) => {
        take(request, response, options).then(
          (isLast) => {
            if (isLast) resolve();
          },
          () => response.destroy(),
        );
      });
      server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
        onRefused(error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'too slow' : 'not HTTP, or it broke off');
        socket.destroy();
      });
      server.on('error', reject);
      signal.addEventListener('abort', () => resolve(), { once: true });
      server.listen({ port, host: '127.0.0.1' }, () => options.onListening((server.address() as AddressInfo).port));
      if (signal.aborted) resolve();
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** Answers one request; true after the last one. */
async function take(request: IncomingMessage, response: ServerResponse, options: ReceiverOptions): Promise<boolean> {
  const refuse = async (status: number, why: string) => {
    options.onRefused(why);
    await answer(response, status, why);
    return false;
  };
  if (request.method !== 'POST') return refuse(405, 'not a POST');
  const body = await readBody(request);
  if (body === null) return refuse(413, 'longer than 2 MiB');
  const { verified, last } = options.onDelivery({ headers: request.headers, body });
  await answer(response, verified ? 200 : 401, verified ? 'verified' : 'not verified');
  return last;
}

/** Null for a body that is too long; the rest of it is not read. */
function readBody(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const onData = (part: Buffer) => {
      bytes += part.length;
      if (bytes <= maxBodyBytes) return void parts.push(part);
      request.off('data', onData).pause();
      resolve(null);
    };
    request.on('data', onData);
    request.on('end', () => resolve(Buffer.concat(parts)));
    request.on('error', reject);
  });
}

async function answer(response: ServerResponse, status: number, text: string): Promise<void> {
  const closed = once(response, 'close');
  response.writeHead(status, { connection: 'close', 'content-type': 'text/plain' }).end(`${text}\n`);
  await closed;
}
