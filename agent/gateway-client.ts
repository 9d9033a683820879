import * as http from 'node:http';
import * as https from 'node:https';
import {
  Buffered,
  bodyHeaders,
  type CallOptions,
  exchange,
  type GatewayAnswer,
  isStreamed,
  StaleSocket,
  type StreamedBody,
} from './http-exchange.js';

/** The gateway's reason for a refusal, if any. */
export function saidBy({ body }: GatewayAnswer): string | null {
  const said = (body as { error?: unknown } | null)?.error;
  return typeof said === 'string' ? said.slice(0, 200) : null;
}

/**
 * Whether the gateway itself has refused a call for good. The page of a proxy has no code; 408 is of a call that arrived too slowly, 429 of one that
 * came too soon.
 */
export function isRefusal({ status, body }: GatewayAnswer): boolean {
  const { code } = (body ?? {}) as { code?: unknown };
  return status >= 400 && status < 500 && status !== 408 && status !== 429 && typeof code === 'string';
}

/** Words a refusal by its status, with the gateway's reason. */
export function refusalText(answer: GatewayAnswer): string {
  const said = saidBy(answer);
  return said === null ? `status ${answer.status}` : `status ${answer.status}: ${said}`;
}

export interface GatewayClient {
  /** Throws GatewayUnreachable when no readable answer came, or the signal's reason when it aborted. */
  get(path: string, options: CallOptions): Promise<GatewayAnswer>;
  post(path: string, body: object | StreamedBody | null, options: CallOptions): Promise<GatewayAnswer>;
  close(): void;
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
