import type { IncomingHttpHeaders } from 'node:http';
import { type JsonText, tryJson } from '../lib/json/read.js';
import { visible } from '../lib/visible.js';
import type { ServerSettings } from './config/server.js';
import { type ExchangeAnswer, exchange, NoAnswer } from './exchange.js';
import { CommandFailure, failure } from './failure.js';
import { withSettingsHint } from './settings-hint.js';
import type { Limits } from './terminal.js';
import { repeated } from './tries.js';
import { version } from './version.js';
import { chooseWay } from './way.js';

export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Segments after the base address; each one gets percent-encoded (CL-28). */
  path: readonly string[];
  query?: Record<string, string | number | boolean | undefined>;
  /** JSON text. */
  body?: string;
  /** Besides the usual ones, or in their place. */
  headers?: Readonly<Record<string, string>>;
  /** Tried three times. GET unless set; for a POST only when repeating it creates nothing new (CL-10). */
  repeatable?: boolean;
  timeoutMs?: number;
  /** Of each further try, instead of those above. */
  again?: { query: Record<string, string>; timeoutMs: number };
  /** Replaces the command's own signal. */
  signal?: AbortSignal;
  /** Takes the body of a 200 part by part; `timeoutMs` then limits the silence between two. Such a call is never repeated. */
  onPart?: (part: Uint8Array, headers: IncomingHttpHeaders) => Promise<void>;
  /** For a GET that is repeated: when a server that has answered before is away, keeps trying for `limits.awayMs` and tells why; null once it answers. */
  onAway?: (reason: string | null) => void;
  /** Statuses of 300 and above to return instead of throwing. */
  accept?: readonly number[];
}

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The answer as JSON; throws `server_error` when it is not JSON. */
  json(): JsonText;
}

/** The HTTP side of a command (CL-10); every server refusal becomes a CommandFailure. */
export interface Client {
  call(call: Call): Promise<Reply>;
  close(): void;
}

export interface ClientOptions {
  settings: ServerSettings;
  /** Asked before each call, because a login is renewed as the command goes on. */
  token: () => Promise<string>;
  /** Awaited before each call; rejects when the address must not be called (HD-60). */
  admit: (() => Promise<void>) | null;
  limits: Limits;
  environment: Record<string, string | undefined>;
  signal: AbortSignal;
  /** The command's words, the prefix of each message. */
  what: string;
  /** Called once when the server's version differs (CL-11). */
  onOtherVersion(server: string): void;
  /** Called when the first answer does not come for a while. */
  onSilence(server: string): void;
}

const tries = 3;

export function createClient(options: ClientOptions): Client {
  const { settings, limits, what } = options;
  const way = chooseWay(settings.baseUrl, settings.ca, options.environment);
  const attempt = (call: Call, token: string, signal: AbortSignal) =>
    exchange({
      method: call.method,
      url: addressOf(settings.baseUrl, call),
      headers: { ...headersOf(call, token), ...call.headers, ...way.headers },
      body: call.body ?? null,
      agent: way.agent,
      isForwarded: way.isForwarded,
      connectMs: limits.connectMs,
      totalMs: call.timeoutMs ?? limits.callMs,
      signal,
      onPart: call.onPart,
    });
  // A wrong address is told at once; only what has answered is waited for.
  let hasAnswered = false;
  return {
    async call(call) {
      const signal = call.signal ?? options.signal;
      await options.admit?.();
      const token = await options.token();
      const isRepeated = call.repeatable ?? (call.method === 'GET' && call.onPart === undefined);
      const onAway = isRepeated && call.method === 'GET' && hasAnswered ? (call.onAway ?? null) : null;
      const most = isRepeated ? tries : 1;
      const once = (isAgain: boolean) => attempt(isAgain ? { ...call, ...call.again } : call, token, signal);
      const stopTelling = hasAnswered || call.timeoutMs !== undefined ? null : tellSilence(options);
      const answer = await repeated(once, { most, onAway, limits, signal })
        .catch((error: unknown) => {
          throw error instanceof NoAnswer ? awayFailure(what, settings.baseUrl, error) : error;
        })
        .finally(stopTelling);
      if (answer.status < 500) {
        hasAnswered = true;
        call.onAway?.(null);
      }
      const server = answer.headers['x-svc-version'];
      if (typeof server === 'string' && release(server) !== release(version)) options.onOtherVersion(server);
      const isFine = answer.status >= 200 && answer.status < 300;
      if (!isFine && !call.accept?.includes(answer.status))
        throw withSettingsHint(answerFailure(what, answer.status, answer.text), settings);
      return { status: answer.status, headers: answer.headers, text: answer.text, json: () => jsonOf(what, answer) };
    },
    close: () => way.agent.destroy(),
  };
}

/** Later answers that take long come while a request is followed, which shows that the command runs. */
function tellSilence({ limits, settings, onSilence }: ClientOptions): () => void {
  const timer = setTimeout(() => onSilence(settings.baseUrl.origin), limits.silenceMs);
  return () => clearTimeout(timer);
}

/** The server's refusal as `<what was tried>: <server error>`, with the server's code and hint. */
export function answerFailure(what: string, status: number, text: string): CommandFailure {
  const body = tryJson(text);
  const error = body?.get('error')?.string();
  if (error == null)
    return failure('server_error', `${what}: the server answered ${status}: ${visible(text.slice(0, 200)) || 'no text'}`, {
      hint: status < 500 ? somethingElse : null,
    });
  return new CommandFailure(body?.get('code')?.string() ?? 'server_error', `${what}: ${error}`, {
    hint: body?.get('hint')?.string() ?? null,
    reason: body?.get('reason')?.string() ?? null,
    exit: 1,
  });
}

const somethingElse = 'is this the gateway? Check [server] url in svc.toml, or SVC_SERVER_URL';

/** Major and minor version (CL-11). */
export const release = (text: string) => text.split('.', 2).join('.');

function jsonOf(what: string, answer: ExchangeAnswer): JsonText {
  const body = tryJson(answer.text);
  if (!body)
    throw failure('server_error', `${what}: the server did not answer with JSON: ${visible(answer.text.slice(0, 200))}`, {
      hint: somethingElse,
    });
  return body;
}

function awayFailure(what: string, baseUrl: URL, error: NoAnswer): CommandFailure {
  return failure('network_error', `${what}: could not reach ${baseUrl.origin} (${error.message})`, {
    hint: error.isConnection ? 'is the server running? Check [server] url and ca_file in svc.toml, or SVC_SERVER_URL' : null,
  });
}

function addressOf(baseUrl: URL, call: Call): URL {
  // A lone dot is a path step even when it is encoded.
  if (call.path.some((segment) => segment === '.' || segment === '..')) throw failure('usage', 'not a valid id or name');
  const url = new URL(baseUrl.href);
  url.pathname = `${baseUrl.pathname.replace(/\/$/, '')}/${call.path.map(encodeURIComponent).join('/')}`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) if (value !== undefined) query.set(name, String(value));
  url.search = query.toString();
  return url;
}

function headersOf(call: Call, token: string): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json',
    authorization: `Bearer ${token}`,
    'user-agent': `svc/${version}`,
  };
  if (call.body !== undefined) {
    headers['content-type'] = 'application/json';
    headers['content-length'] = String(Buffer.byteLength(call.body));
  }
  return headers;
}
