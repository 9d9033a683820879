import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeReply {
  status?: number;
  /** A string is sent as it is, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Closes the connection instead of an answer. */
  drop?: boolean;
  /** Gives no answer until the caller goes away or the server closes. */
  hang?: boolean;
}

export interface FakeCall {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface FakeApi {
  url: string;
  calls: FakeCall[];
  /** Answers `METHOD /path` with these replies in turn; the last one stays. A function makes the reply to each call. */
  on(route: string, ...replies: (FakeReply | ((call: FakeCall) => FakeReply))[]): FakeApi;
  /** The bodies sent to a route, parsed. */
  bodies(route: string): Record<string, unknown>[];
  close(): Promise<void>;
}

/** An HTTP server with canned answers on a free port of 127.0.0.1. Anything else is 404 `route.not_found`. */
export async function startFakeApi(version = '0.1.0'): Promise<FakeApi> {
  const routes = new Map<string, (FakeReply | ((call: FakeCall) => FakeReply))[]>();
  const calls: FakeCall[] = [];
  const server = createServer((request, response) => {
    const respond = (call: FakeCall) => {
      calls.push(call);
      const replies = routes.get(`${call.method} ${call.path}`) ?? [notFound];
      const next = replies.length > 1 ? replies.shift()! : replies[0]!;
      send(response, version, typeof next === 'function' ? next(call) : next);
    };
    readCall(request).then(respond, () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const api: FakeApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    on(route, ...replies) {
      routes.set(route, replies);
      return api;
    },
    bodies: (route) => calls.filter((call) => `${call.method} ${call.path}` === route).map((call) => JSON.parse(call.body)),
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return api;
}

const notFound: FakeReply = { status: 404, body: { error: 'no such path', code: 'route.not_found', hint: null } };

async function readCall(request: IncomingMessage): Promise<FakeCall> {
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += part;
  const url = new URL(request.url ?? '/', 'http://fake');
  return { method: request.method ?? '', path: url.pathname, query: url.searchParams, headers: request.headers, body };
}

function send(response: ServerResponse, version: string, reply: FakeReply): void {
  if (reply.hang === true) return;
  if (reply.drop === true) return void response.socket?.destroy();
  const status = reply.status ?? 200;
  const text = reply.body === undefined ? '' : typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
  response.writeHead(status, { 'x-svc-version': version, 'content-type': 'application/json; charset=utf-8', ...reply.headers });
  response.end(text);
}
