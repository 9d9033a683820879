import type { IncomingMessage } from 'node:http';
import { forbidden, invalid, notFound, refusal } from '../../domain/errors.js';
import type { Services } from '../context.js';

type Headers = IncomingMessage['headers'];

/** From the newest (MC-2). */
export const protocolVersions = ['2025-06-18', '2025-03-26', '2024-11-05'] as const;
export type ProtocolVersion = (typeof protocolVersions)[number];
export const newestVersion = protocolVersions[0];
/** Of a call without session and header. */
const unsaidVersion: ProtocolVersion = '2025-03-26';

export const isVersion = (text: string): text is ProtocolVersion => protocolVersions.some((known) => known === text);

/** MC-1, MC-3. */
export function checkMcp(services: Pick<Services, 'config'>, { headers }: { headers: Headers }): void {
  const { enabled, allowedOrigins } = services.config().mcp;
  if (!enabled) throw notFound('mcp');
  const { origin } = headers;
  if (origin !== undefined && !isAllowed(origin, allowedOrigins))
    throw forbidden('this Origin is not allowed; [mcp] allowed_origins in server.toml lists those that are');
}

const loopback = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;
/** Browsers send a host in lower case and leave out the usual port, however the entry is written. */
const isAllowed = (origin: string, allowed: readonly string[]) =>
  allowed.length === 0 ? loopback.test(origin) : allowed.some((entry) => new URL(entry).origin === origin);

/** MC-4. `Vary` because the answer depends on who asks. */
export function corsHeaders(services: Pick<Services, 'config'>, { headers }: { headers: Headers }): Record<string, string> {
  const { enabled, allowedOrigins } = services.config().mcp;
  const { origin } = headers;
  if (!enabled || origin === undefined || !isAllowed(origin, allowedOrigins)) return { Vary: 'Origin' };
  return {
    Vary: 'Origin',
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Methods': 'POST, GET, DELETE, OPTIONS',
    'Access-Control-Allow-Headers': 'authorization, content-type, accept, mcp-session-id, last-event-id, mcp-protocol-version',
    'Access-Control-Expose-Headers': 'mcp-session-id, mcp-protocol-version',
  };
}

/** What the `Accept` header takes. A type with `q=0` is none. */
function accepted({ accept }: Headers): ReadonlySet<string> | 'anything' {
  if (accept === undefined || accept.trim() === '') return 'anything';
  const types = accept.split(',').flatMap((entry) => {
    const [type = '', ...parameters] = entry.toLowerCase().split(';');
    return parameters.some((one) => /^\s*q\s*=\s*0(\.0*)?\s*$/.test(one)) ? [] : [type.trim()];
  });
  return new Set(types);
}

/** MC-10. Answers whether a stream is welcome. */
export function checkAcceptOfPost(headers: Headers): { streams: boolean } {
  const types = accepted(headers);
  if (types === 'anything') return { streams: false };
  const usable = ['application/json', 'text/event-stream', '*/*'].some((type) => types.has(type));
  if (!usable) throw notAcceptable('application/json, text/event-stream');
  return { streams: types.has('text/event-stream') };
}

export function checkAcceptOfGet(headers: Headers): void {
  const types = accepted(headers);
  if (types === 'anything' || !(types.has('text/event-stream') || types.has('*/*'))) throw notAcceptable('text/event-stream');
}

const notAcceptable = (offered: string) =>
  refusal('validation.not_acceptable', `this endpoint answers ${offered}`, 'header.accept');

/** Whether a GET names a stream to resume. Another one is 405. */
export const namesStream = ({ headers }: { headers: Headers }): boolean =>
  headers['mcp-session-id'] !== undefined && headers['last-event-id'] !== undefined;

/** HT-26, for a GET that is 405: the router allows GET. */
export const allowOfGet = (request: { headers: Headers }): Record<string, string> =>
  namesStream(request) ? {} : { Allow: 'POST, DELETE, OPTIONS' };

/** One value, or undefined; Node joins repeated headers. */
export function single(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** MC-2. */
export function versionOf(headers: Headers, sessionVersion: string | null): ProtocolVersion {
  const said = single(headers, 'mcp-protocol-version');
  const known = sessionVersion ?? said ?? unsaidVersion;
  if (!isVersion(known)) throw unsupported();
  if (said !== undefined && said !== known) throw unsupported();
  return known;
}

const unsupported = () =>
  invalid(`mcp-protocol-version must be the session's, one of ${protocolVersions.join(', ')}`, 'header.mcp-protocol-version');
