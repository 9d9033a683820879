import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { isLoopbackHost } from '../../domain/loopback.js';
import { fileFault } from '../../lib/file-fault.js';
import { type CommandFailure, failure } from '../failure.js';
import type { GlobalOptions } from '../options.js';
import { type Credential, findCredential, readToken } from './credential.js';
import type { Layered, LayerName, Layers } from './layers.js';
import { type ProviderSettings, providerFile, providerSettings, providerText } from './provider.js';
import type { TrustEntry } from './trusted.js';

/** Where calls go, and with which credential; `source` names where the token comes from, never the token. */
export interface ServerSettings {
  /** No trailing slash; may hold a path prefix. */
  baseUrl: URL;
  credential: { kind: 'token'; token: string } | { kind: 'login'; provider: ProviderSettings };
  source: string;
  /** PEM text of additional certificate authorities, or null. */
  ca: string | null;
  /** What the person must trust before anything is sent (HD-60); null when nothing. */
  needsTrust: TrustEntry | null;
}

/** Address and credential by CL-04 to CL-08; throws before anything is sent. */
export function serverSettings(layers: Layers, options: GlobalOptions, warn: (text: string) => void): ServerSettings {
  const address = findAddress(layers);
  const credential = findCredential(layers);
  if (!credential)
    throw failure('auth_error', 'you are not logged in: no token and no [server.oidc]', {
      hint: 'set [server] token_file in svc.toml, or SVC_TOKEN; or issuer and client_id under [server.oidc], then svc login',
    });
  requireTogether(address, credential);
  const { baseUrl } = address;
  const insecure = allowsInsecure(layers, options);
  const isOpen = requireProtected(address, insecure.allowed);
  const isFound = layers.found !== null && credential.layer === 'project';
  const authority = readAuthority(layers);
  const takesInsecure = isOpen && insecure.byFound;
  const isLogin = credential.kind === 'oidc';
  // A login is the person's own, whoever wrote the file that says where to log in.
  const isForeign = !isFound || isLogin || layers.foundReadsEnvironment;
  const isSteered = address.isFound || authority.byFound || (isFound && isLogin);
  return {
    baseUrl,
    credential: isLogin
      ? { kind: 'login', provider: providerSettings(layers, providerFile(layers)!, insecure.allowed) }
      : { kind: 'token', token: readToken(credential, isFound, warn) },
    source: credential.where,
    ca: authority.pem,
    needsTrust: layers.found !== null && (takesInsecure || (isForeign && isSteered)) ? trustEntry(layers, baseUrl) : null,
  };
}

/** Whether the address is plain http to another host, which must be allowed (CL-08). */
function requireProtected({ baseUrl, where }: Address, isAllowed: boolean): boolean {
  const isOpen = baseUrl.protocol === 'http:' && !isLoopbackHost(baseUrl.hostname);
  if (isOpen && !isAllowed)
    throw failure('config_error', `${where}: plain http to ${baseUrl.hostname} would expose the token on the network`, {
      hint: 'use https; else --allow-insecure, or allow_insecure = true under [server] of your own config.toml',
    });
  return isOpen;
}

/** The address alone, for what is asked without a credential. */
export function serverPlace(layers: Layers, options: GlobalOptions): { baseUrl: URL; where: string; isOpen: boolean } {
  const address = findAddress(layers);
  return { ...address, isOpen: requireProtected(address, allowsInsecure(layers, options).allowed) };
}

/** CL-06: whoever sets an address must set the credential for it too. */
export function requireTogether(address: Layered, credential: Credential): void {
  if (rank[address.layer] > rank[credential.layer]) throw apartFailure(address, credential);
}

function apartFailure(address: Layered, credential: Credential): CommandFailure {
  const what = credential.kind === 'oidc' ? 'login' : 'token';
  const file = credential.where.slice(0, credential.where.lastIndexOf(': '));
  if (address.layer === 'environment')
    return failure('config_error', `${address.where} is set, but the ${what} is in ${file}`, {
      hint: `unset ${address.where}, or set SVC_TOKEN too`,
    });
  return failure('config_error', `${address.where} names the server, but the ${what} is in ${file}`, {
    hint: `put the ${what} in the same file as the address, or set SVC_TOKEN`,
  });
}

/** For what asks no server: its address, and the provider of the highest `[server.oidc]`. */
export function loginPlace(layers: Layers, options: GlobalOptions): { baseUrl: URL; provider: ProviderSettings } {
  const file = providerFile(layers);
  if (file === undefined)
    throw failure('config_error', 'no identity provider is configured under [server.oidc]', {
      hint: 'set its issuer and client_id in svc.toml',
    });
  const provider = providerSettings(layers, file, allowsInsecure(layers, options).allowed);
  return { baseUrl: findAddress(layers).baseUrl, provider };
}

/** The person's own certificate authorities, for what needs no trust in a file that was found. */
export function loginAuthority(layers: Layers): string | null {
  const { pem, byFound } = readAuthority(layers);
  return byFound ? null : pem;
}

/** The address and what must be trusted for it, without looking for a credential; null when no project file was found. */
export function addressToTrust(layers: Layers): TrustEntry | null {
  return layers.found === null ? null : trustEntry(layers, findAddress(layers).baseUrl);
}

/** An address as shown and compared: lower case, punycode, no default port. */
export function addressText(url: URL): string {
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Null when the text is not a server address. */
export function parseAddress(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isPlain || !['http:', 'https:'].includes(url.protocol)) return null;
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

const rank = { global: 1, project: 2, environment: 3 } satisfies Record<LayerName, number>;

type Address = Layered & { baseUrl: URL; isFound: boolean };

function findAddress(layers: Layers): Address {
  const address = layers.find('server.url');
  if (!address) throw failure('config_error', 'no server address', { hint: 'set [server] url in svc.toml, or SVC_SERVER_URL' });
  const baseUrl = parseAddress(address.text);
  if (!baseUrl) throw failure('config_error', `${address.where}: not a valid address (http(s)://host:port)`);
  return { ...address, baseUrl, isFound: isByFound(layers, address) };
}

const isByFound = (layers: Layers, value: Layered) => layers.found !== null && value.layer === 'project';

function trustEntry(layers: Layers, baseUrl: URL): TrustEntry {
  const authority = readAuthority(layers);
  const found = layers.found!;
  return {
    folder: realpathSync(found.directory),
    address: addressText(baseUrl),
    ca: authority.byFound ? createHash('sha256').update(authority.pem!).digest('hex') : null,
    ...(found.hasOidc ? { provider: providerText(layers, found) } : {}),
  };
}

function allowsInsecure(layers: Layers, options: GlobalOptions): { allowed: boolean; byFound: boolean } {
  if (options.allowInsecure === true) return { allowed: true, byFound: false };
  const value = layers.find('server.allow_insecure');
  return { allowed: ['true', '1'].includes(value?.text ?? ''), byFound: value !== undefined && isByFound(layers, value) };
}

/** `[server] ca_file`, if any; `config_error` where it cannot be read. */
export function readAuthority(layers: Layers): { pem: string | null; byFound: boolean } {
  const file = layers.find('server.ca_file');
  if (!file) return { pem: null, byFound: false };
  const path = resolve(file.directory, file.text);
  try {
    return { pem: readFileSync(path, 'utf8'), byFound: isByFound(layers, file) };
  } catch (error) {
    throw failure('config_error', `${file.where}: ${path} cannot be read (${fileFault(error)})`);
  }
}
