import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket, type TcpNetConnectOpts } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { type Network, systemNetwork } from '../../runtime/guarded-connect.js';
import { type Attempt, sendWebhook, type WebhookRequest } from '../../runtime/webhook-sender.js';

export interface Received {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A receiver on loopback that keeps what it gets. Closes at the end of the test. */
export async function openReceiver(answer: RequestListener = (_request, response) => void response.end(), address = '127.0.0.1') {
  const received: Received[] = [];
  const server = createServer(keep(received, answer));
  return { received, port: await listen(server, address) };
}

/** The same with TLS. Keeps the names that clients ask for. */
export async function openTlsReceiver(tls: TlsOptions) {
  const received: Received[] = [];
  const names: unknown[] = [];
  const server = createTlsServer(
    tls,
    keep(received, (_request, response) => void response.end()),
  );
  server.on('secureConnection', ({ servername }: { servername?: unknown }) => void names.push(servername));
  server.on('tlsClientError', () => {});
  return { received, names, port: await listen(server) };
}

/** A receiver that speaks no HTTP of its own, and counts the bytes that it gets. */
export async function openTcpReceiver(onConnection: (socket: Socket) => void = () => {}) {
  const seen = { connections: 0, open: 0, text: '' };
  const server = createTcpServer((socket) => {
    seen.connections++;
    seen.open++;
    socket.on('close', () => void seen.open--);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      seen.text += chunk.toString('latin1');
    });
    onConnection(socket);
  });
  return { seen, port: await listen(server) };
}

/** One attempt, at a receiver on loopback unless the changes name another address. */
export function send(
  port: number,
  changes: Partial<WebhookRequest> = {},
  { timeoutMs = 5000, network = systemNetwork }: { timeoutMs?: number; network?: Network } = {},
): Promise<Attempt> {
  return sendWebhook(
    { url: `http://127.0.0.1:${port}/hook`, headers: {}, body: '{}', allowPrivateNetworks: true, ...changes },
    { timeoutMs, network },
  );
}

/** A network that knows only the given names, and records lookups and connections. */
export function fakeNetwork(answers: Record<string, string[] | (() => string[])>, changes: Partial<Network> = {}) {
  const asked: string[] = [];
  const connected: TcpNetConnectOpts[] = [];
  const network: Network = {
    lookup: async (host) => {
      asked.push(host);
      const answer = answers[host];
      if (answer === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
      const list = typeof answer === 'function' ? answer() : answer;
      return list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    ...changes,
    connect: (options) => {
      connected.push(options);
      return (changes.connect ?? systemNetwork.connect)(options);
    },
  };
  return { asked, connected, network };
}

const keep =
  (received: Received[], answer: RequestListener): RequestListener =>
  async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body });
    answer(request, response);
  };

async function listen(server: Server, address = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, address);
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}
