import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { isLoopbackHost } from '../../domain/loopback.js';
import { failure } from '../failure.js';
import type { GlobalOptions } from '../options.js';
import { findCredential, readToken } from './credential.js';
import type { Layered, LayerName, Layers } from './layers.js';
import type { TrustEntry } from './trusted.js';

/** Where calls go, and with which credential; `source` names where the token comes from, never the token. */
export interface ServerSettings {
  /** No trailing slash; may hold a path prefix. */
  baseUrl: URL;
  token: string;
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
  if (!credential) throw failure('auth_error', 'no credential', { hint: 'set [server] token_file in svc.toml, or SVC_TOKEN' });
  if (rank[address.layer] > rank[credential.layer])
    throw failure(
      'config_error',
      `the address of ${address.where} is not sent the credential of ${credential.where}: it comes from a lower layer`,
      { hint: 'set the address and the token in the same place' },
    );
  const { baseUrl } = address;
  const insecure = allowsInsecure(layers, options);
  const isOpen = baseUrl.protocol === 'http:' && !isLoopbackHost(baseUrl.hostname);
  if (isOpen && !insecure.allowed)
    throw failure(
      'config_error',
      `${address.where}: plain http to ${baseUrl.hostname} would show the token to everybody on the way`,
      {
        hint: 'use https; else --allow-insecure, or allow_insecure = true under [server] of your own config.toml',
      },
    );
  const isFound = layers.found !== null && credential.layer === 'project';
  const authority = readAuthority(layers);
  const takesInsecure = isOpen && insecure.byFound;
  const isForeign = !isFound || layers.foundReadsEnvironment;
  const isSteered = address.isFound || authority.byFound;
  return {
    baseUrl,
    token: readToken(credential, isFound, warn),
    source: credential.where,
    ca: authority.pem,
    needsTrust: layers.found !== null && (takesInsecure || (isForeign && isSteered)) ? trustEntry(layers, baseUrl) : null,
  };
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

function findAddress(layers: Layers): Layered & { baseUrl: URL; isFound: boolean } {
  const address = layers.find('server.url');
  if (!address) throw failure('config_error', 'no server address', { hint: 'set [server] url in svc.toml, or SVC_SERVER_URL' });
  const baseUrl = parseAddress(address.text);
  if (!baseUrl) throw failure('config_error', `${address.where}: not an address of the form http(s)://host:port`);
  return { ...address, baseUrl, isFound: isByFound(layers, address) };
}

const isByFound = (layers: Layers, value: Layered) => layers.found !== null && value.layer === 'project';

function trustEntry(layers: Layers, baseUrl: URL): TrustEntry {
  const authority = readAuthority(layers);
  return {
    folder: realpathSync(layers.found!.directory),
    address: addressText(baseUrl),
    ca: authority.byFound ? createHash('sha256').update(authority.pem!).digest('hex') : null,
  };
}

function allowsInsecure(layers: Layers, options: GlobalOptions): { allowed: boolean; byFound: boolean } {
  if (options.allowInsecure === true) return { allowed: true, byFound: false };
  const value = layers.find('server.allow_insecure');
  return { allowed: ['true', '1'].includes(value?.text ?? ''), byFound: value !== undefined && isByFound(layers, value) };
}

function readAuthority(layers: Layers): { pem: string | null; byFound: boolean } {
  const file = layers.find('server.ca_file');
  if (!file) return { pem: null, byFound: false };
  const path = resolve(file.directory, file.text);
  try {
    return { pem: readFileSync(path, 'utf8'), byFound: isByFound(layers, file) };
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw failure('config_error', `${file.where}: ${path} cannot be read (${reason})`);
  }
}
