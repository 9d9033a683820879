import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { systemNetwork } from '../../runtime/guarded-connect.js';
import { type Attempt, sendWebhook, type WebhookRequest } from '../../runtime/webhook-sender.js';

export interface Received {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A receiver on loopback that keeps what it gets. Closes at the end of the test. */
export async function openReceiver(answer: RequestListener = (_request, response) => void response.end()) {
  const received: Received[] = [];
  const server = createServer(keep(received, answer));
  return { received, port: await listen(server) };
}

/** The same with TLS. */
export async function openTlsReceiver(tls: { key: string; cert: string; ca?: string; requestCert?: boolean }) {
  const received: Received[] = [];
  const server = createTlsServer(
    tls,
    keep(received, (_request, response) => void response.end()),
  );
  return { received, port: await listen(server) };
}

/** A receiver that speaks no HTTP of its own, and counts the bytes that it gets. */
export async function openTcpReceiver(onConnection: (socket: Socket) => void = () => {}) {
  const seen = { connections: 0, text: '' };
  const server = createTcpServer((socket) => {
    seen.connections++;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      seen.text += chunk.toString('latin1');
    });
    onConnection(socket);
  });
  return { seen, port: await listen(server) };
}

/** One attempt at a receiver on loopback. */
export function send(port: number, changes: Partial<WebhookRequest> = {}, timeoutMs = 5000): Promise<Attempt> {
  return sendWebhook(
    { url: `http://127.0.0.1:${port}/hook`, headers: {}, body: '{}', allowPrivateNetworks: true, ...changes },
    { timeoutMs },
  );
}

/** A network that knows the given names only, and notes who is asked for and where connections go. */
export function fakeNetwork(answers: Record<string, string[] | (() => string[])>, connect = systemNetwork.connect) {
  const asked: string[] = [];
  const connected: unknown[] = [];
  return {
    asked,
    connected,
    network: {
      lookup: async (host: string) => {
        asked.push(host);
        const answer = answers[host];
        if (answer === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
        const list = typeof answer === 'function' ? answer() : answer;
        return list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      },
      connect: (options: Parameters<typeof connect>[0]) => {
        connected.push(options.host);
        return connect(options);
      },
    },
  };
}

const keep =
  (received: Received[], answer: RequestListener): RequestListener =>
  async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body });
    answer(request, response);
  };

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}
