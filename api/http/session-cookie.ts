import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config/types.js';
import { forbidden } from '../../domain/errors.js';
import { isLoopbackHost } from '../../domain/loopback.js';
import { cameByHttps } from '../../runtime/client-address.js';
import { bearerOf, type Credential, cookieOf } from '../../runtime/credential.js';

type BrowserConfig = Pick<Config, 'trustedProxies' | 'server' | 'console'>;

export interface CookieForm {
  name: string;
  attributes: string;
}

/** How a browser is given the cookie of its session. Null by plain http from elsewhere, where anybody on the way could read it (CO-11). */
export function cookieFormOf(request: IncomingMessage, config: BrowserConfig): CookieForm | null {
  const attributes = 'Path=/; HttpOnly; SameSite=Strict';
  if (isSecure(request, config)) return { name: '__Host-svc_console', attributes: `${attributes}; Secure` };
  const host = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(request.headers.host ?? '')?.[1] ?? '';
  return isLoopbackHost(host) ? { name: 'svc_console', attributes } : null;
}

/** The cookie of a login in progress. It must be sent when the provider, another site, redirects the browser back (CO-14). */
export const loginCookieOf = ({ name, attributes }: CookieForm): CookieForm => ({
  name: `${name}_login`,
  attributes: attributes.replace('SameSite=Strict', 'SameSite=Lax'),
});

/** The header that sets the cookie, or with 0 seconds takes it away. */
export const setCookie = ({ name, attributes }: CookieForm, value: string, seconds: number) => ({
  'Set-Cookie': `${name}=${value}; Max-Age=${seconds}; ${attributes}`,
});

/** The credential of a call. An `Authorization` header of any kind wins over the cookie, which counts below `/api/` only (CO-13). */
export function credentialOf(request: IncomingMessage, config: BrowserConfig, isApi: boolean): Credential | null {
  if (request.headers.authorization !== undefined) return bearerOf(request);
  return isApi && config.console.enabled ? sessionCookieOf(request, config) : null;
}

export function sessionCookieOf(request: IncomingMessage, config: BrowserConfig): Credential | null {
  const form = request.headers.cookie === undefined ? null : cookieFormOf(request, config);
  return form === null ? null : cookieOf(request, form.name);
}

/** CO-13: a change authorised by the cookie must come from this server's own page. */
export function refuseCrossSite(request: IncomingMessage, config: BrowserConfig): void {
  if (request.method !== 'GET' && request.method !== 'HEAD' && !isSameOrigin(request, config)) throw forbidden('cross-site call');
}

/** Whether a browser says that another site's page makes the call. Other programs say nothing. */
export function isCrossSite(request: IncomingMessage, config: BrowserConfig): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  return (site !== undefined || origin !== undefined) && !isSameOrigin(request, config);
}

function isSameOrigin(request: IncomingMessage, config: BrowserConfig): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && ownOrigins(request, config).includes(origin);
}

/** Where browsers reach this server, without a slash at the end. */
export function ownAddress(request: IncomingMessage, { trustedProxies, server: { publicUrl } }: BrowserConfig): string {
  if (publicUrl !== null) return publicUrl.replace(/\/+$/, '');
  return calledOrigin(request, trustedProxies) ?? 'http://localhost';
}

function calledOrigin(request: IncomingMessage, trustedProxies: readonly string[]): string | null {
  const { host } = request.headers;
  return host === undefined ? null : `${cameByHttps(request, trustedProxies) ? 'https' : 'http'}://${host.toLowerCase()}`;
}

function ownOrigins(request: IncomingMessage, { trustedProxies, server: { publicUrl } }: BrowserConfig): string[] {
  const called = calledOrigin(request, trustedProxies);
  return [...(called === null ? [] : [called]), ...(publicUrl === null ? [] : [new URL(publicUrl).origin])];
}

const isSecure = (request: IncomingMessage, { trustedProxies, server: { publicUrl } }: BrowserConfig): boolean =>
  publicUrl?.startsWith('https:') === true || cameByHttps(request, trustedProxies);
