import { randomUUID } from 'node:crypto';
import type { Answer, Loose, TestApi } from '../support/api.js';

export interface McpHeaders {
  [name: string]: string;
}

export type McpCalls = ReturnType<typeof mcpCalls>;

/** MCP as a client speaks it, message by message. */
export function mcpCalls(api: Pick<TestApi, 'call' | 'url'>, token: string) {
  const post = (body: unknown, headers: McpHeaders = {}): Promise<Answer> => api.call('POST', '/mcp', { token, body, headers });
  const request = (method: string, params?: object, headers: McpHeaders = {}) =>
    post({ jsonrpc: '2.0', id: randomUUID(), method, params }, headers);
  const open = async (
    over: { protocolVersion?: string; capabilities?: object; clientInfo?: object } = {},
  ): Promise<McpHeaders> => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'probe', version: '1.2' }, ...over };
    const answer = await request('initialize', params);
    const id = answer.headers.get('mcp-session-id');
    if (id === null) throw new Error(`no session: ${answer.status} ${answer.text}`);
    const headers = { 'mcp-session-id': id };
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
    return headers;
  };
  return {
    post,
    request,
    open,
    /** The result of a tool; throws an error of JSON-RPC. */
    tool: async (
      name: string,
      args: object = {},
      headers: McpHeaders = { 'mcp-protocol-version': '2025-06-18' },
    ): Promise<Loose> => {
      const { body, text } = await request('tools/call', { name, arguments: args }, headers);
      if (body?.result === undefined) throw new Error(text);
      return body.result;
    },
    /** Posts a message that is answered as a stream. */
    stream: (message: object, headers: McpHeaders, signal?: AbortSignal) =>
      openStream(`${api.url}/mcp`, {
        method: 'POST',
        headers: {
          ...common(token),
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
        signal: signal ?? null,
      }),
    resume: (lastId: string, headers: McpHeaders) =>
      openStream(`${api.url}/mcp`, {
        headers: { ...common(token), accept: 'text/event-stream', 'last-event-id': lastId, ...headers },
      }),
  };
}

const common = (token: string) => ({ authorization: `Bearer ${token}` });

export interface SseEvent {
  id: string;
  /** Null for the block that opens a stream. */
  data: Loose;
}

export interface OpenStream {
  status: number;
  headers: Headers;
  /** The next event; null at the end. */
  next(): Promise<SseEvent | null>;
  /** All that is left. */
  rest(): Promise<SseEvent[]>;
  leave(): Promise<void>;
}

async function openStream(url: string, init: RequestInit): Promise<OpenStream> {
  const response = await fetch(url, init);
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let held = '';
  const next = async (): Promise<SseEvent | null> => {
    for (;;) {
      const end = held.indexOf('\n\n');
      if (end >= 0) {
        const block = held.slice(0, end);
        held = held.slice(end + 2);
        if (!block.startsWith('id:')) continue;
        const lines = Object.fromEntries(
          block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
        );
        return { id: lines.id ?? '', data: lines.data === undefined ? null : JSON.parse(lines.data) };
      }
      const { done, value } = await reader.read();
      if (done) return null;
      held += decoder.decode(value, { stream: true });
    }
  };
  return {
    status: response.status,
    headers: response.headers,
    next,
    rest: async () => {
      const events: SseEvent[] = [];
      for (let event = await next(); event !== null; event = await next()) events.push(event);
      return events;
    },
    leave: () => reader.cancel(),
  };
}
