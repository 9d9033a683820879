import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Loose } from './api.js';

export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** Empty for the first of a trace. */
  parentSpanId: string;
  name: string;
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  error: string | null;
  links: { traceId: string; spanId: string }[];
}

export interface Collector {
  url: string;
  port: number;
  spans: CollectedSpan[];
  /** The bodies as they came. */
  bodies: string[];
  paths: string[];
  connections: number;
  /** The spans of a request's trace, by their start. */
  of(requestId: string): CollectedSpan[];
  /** Ends every connection and stops listening. */
  kill(): Promise<void>;
}

export interface CollectorOptions {
  /** An earlier collector's port; a free one if absent. */
  port?: number;
  /** What it answers; as a collector should if absent. */
  answer?: (response: ServerResponse) => void;
}

/** A receiver of OTLP over HTTP with JSON, written by its specification and without any package of ours. */
export async function openCollector({ port = 0, answer = accept }: CollectorOptions = {}): Promise<Collector> {
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    collector.bodies.push(body);
    collector.paths.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
    collector.spans.push(...spansOf(JSON.parse(body)));
    answer(response);
  });
  server.on('connection', (socket) => {
    collector.connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const collector: Collector = {
    url: '',
    port: 0,
    spans: [],
    bodies: [],
    paths: [],
    connections: 0,
    of: (requestId) =>
      collector.spans
        .filter(({ traceId }) => traceId === requestId.replaceAll('-', ''))
        .toSorted((a, b) => a.startMs - b.startMs),
    async kill() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await once(server.close(), 'close');
    },
  };
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  collector.port = (server.address() as AddressInfo).port;
  collector.url = `http://127.0.0.1:${collector.port}`;
  return collector;
}

function accept(response: ServerResponse): void {
  response.setHeader('content-type', 'application/json').end('{"partialSuccess":{}}');
}

function spansOf(body: Loose): CollectedSpan[] {
  return body.resourceSpans.flatMap(({ resource, scopeSpans }: Loose) => {
    const service = attributesOf(resource.attributes)['service.name'] as string;
    return scopeSpans.flatMap(({ spans }: Loose) => spans.map((span: Loose) => spanOf(service, span)));
  });
}

function spanOf(service: string, span: Loose): CollectedSpan {
  const { traceId, spanId, parentSpanId = '', name, kind, links = [], status = {} } = span;
  return {
    service,
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    attributes: attributesOf(span.attributes),
    error: status.code === 2 ? status.message : null,
    links: links.map((link: Loose) => ({ traceId: link.traceId, spanId: link.spanId })),
  };
}

function attributesOf(list: Loose): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }: Loose) => [key, Object.values(value)[0]]));
}
