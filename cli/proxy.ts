import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connect as connectPlain, isIP } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { isLoopbackHost } from '../domain/loopback.js';
import { isPrivateHost } from './config/address.js';

/**
 * The environment's proxy for an address, or null (CL-10). Loopback is always direct, and so is plain http to the allowed private
 * hosts: a proxy would read the token. With https a proxy sees only the host name.
 */
export function proxyFor(url: URL, environment: Record<string, string | undefined>): URL | null {
  const host = hostOf(url);
  if (isLoopbackHost(host) || (url.protocol === 'http:' && isPrivateHost(url.hostname)) || isExcepted(host, environment))
    return null;
  const read = (name: string) => environment[name] || environment[name.toUpperCase()] || undefined;
  const text = read(url.protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? read('all_proxy');
  if (text === undefined) return null;
  const address = text.includes('://') ? text : `http://${text}`;
  const proxy = URL.canParse(address) ? new URL(address) : null;
  return proxy !== null && (proxy.protocol === 'http:' || proxy.protocol === 'https:') ? proxy : null;
}

/** Connections to a proxy that receives the full address of each call. */
export function forwardAgent(proxy: URL): HttpAgent {
  const agent = new HttpAgent({ keepAlive: true });
  const target = { host: hostOf(proxy), port: portOf(proxy) };
  agent.createConnection = () => (proxy.protocol === 'https:' ? connectTls(target) : connectPlain(target));
  return agent;
}

/** TLS connections through a proxy's CONNECT. */
export function tunnelAgent(proxy: URL, ca: { ca?: string[] }): HttpsAgent {
  const agent = new HttpsAgent({ keepAlive: true });
  agent.createConnection = ({ host, port }, callback) => {
    openTunnel({ proxy, ca, host: String(host), port: String(port) }).then(
      (socket) => callback?.(null, socket),
      // The runtime passes no stream with an error; only its types require one.
      callback as ((error: Error) => void) | undefined,
    );
    return undefined;
  };
  return agent;
}

/** As long as a connection may take (CL-10). */
const tunnelMs = 10_000;

interface Tunnel {
  proxy: URL;
  ca: { ca?: string[] };
  host: string;
  port: string;
}

function openTunnel({ proxy, ca, host, port }: Tunnel): Promise<TLSSocket> {
  const send = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const headers = { host: authority, ...proxyAuthorization(proxy) };
  const request = send({ host: hostOf(proxy), port: portOf(proxy), method: 'CONNECT', path: authority, headers, agent: false });
  return new Promise((resolve, reject) => {
    // The call that waits for it has its own time, and ends alone: this ends the connection.
    const timer = setTimeout(() => request.destroy(new Error('the proxy does not answer')), tunnelMs);
    request.once('close', () => clearTimeout(timer));
    request.once('connect', (response, socket) => {
      clearTimeout(timer);
      if (response.statusCode === 200)
        return resolve(connectTls({ ...ca, host, socket, ...(isIP(host) === 0 ? { servername: host } : {}) }));
      socket.destroy();
      reject(new Error(`the proxy answered ${response.statusCode}`));
    });
    request.once('error', reject);
    request.end();
  });
}

/** `Proxy-Authorization` when the proxy's address names a user. */
export function proxyAuthorization(proxy: URL): Record<string, string> {
  if (proxy.username === '') return {};
  const pair = `${unescaped(proxy.username)}:${unescaped(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

/** A `%` that begins no escape stands for itself, as in a password that was written as it is. */
function unescaped(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function portOf(url: URL): number {
  return Number(url.port || (url.protocol === 'https:' ? 443 : 80));
}

/** NO_PROXY: names including their subdomains, with or without a leading dot, addresses, or `*`. */
function isExcepted(host: string, environment: Record<string, string | undefined>): boolean {
  const entries = (environment.no_proxy || environment.NO_PROXY || '')
    .split(',')
    .flatMap((entry) => entry.trim().toLowerCase() || []);
  return entries.some((entry) => {
    const name = entry.replace(/^\*?\./, '');
    return entry === '*' || host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
  });
}
