import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { rootCertificates } from 'node:tls';
import { forwardAgent, proxyAuthorization, proxyFor, tunnelAgent } from './proxy.js';

/** How calls leave this machine: directly, or through the environment's proxy. */
export interface Way {
  agent: HttpAgent;
  /** The proxy receives the full address. */
  isForwarded: boolean;
  headers: Record<string, string>;
}

/** `ca`: PEM text of additional certificate authorities, or null. */
export function chooseWay(url: URL, ca: string | null, environment: Record<string, string | undefined>): Way {
  const proxy = proxyFor(url, environment);
  const trusted = ca === null ? {} : { ca: [...rootCertificates, ca] };
  if (url.protocol === 'https:') {
    const agent = proxy === null ? new HttpsAgent({ keepAlive: true, ...trusted }) : tunnelAgent(proxy, trusted);
    return { agent, isForwarded: false, headers: {} };
  }
  if (proxy === null) return { agent: new HttpAgent({ keepAlive: true }), isForwarded: false, headers: {} };
  return { agent: forwardAgent(proxy), isForwarded: true, headers: proxyAuthorization(proxy) };
}
