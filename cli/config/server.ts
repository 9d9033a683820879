import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { failure } from '../failure.js';
import type { GlobalOptions } from '../options.js';
import { mayUsePlainHttp } from './address.js';
import type { FileLayer } from './file.js';
import type { Layered, LayerName, Layers } from './layers.js';

/** Where calls go and with what; `source` names the place of the token, never the token. */
export interface ServerSettings {
  /** Without trailing slash; may hold a path prefix. */
  baseUrl: URL;
  token: string;
  source: string;
  /** PEM text of further certificate authorities, or null. */
  ca: string | null;
}

/** Address and credential by CL-04 to CL-08; every refusal comes before anything is sent. */
export function serverSettings(layers: Layers, options: GlobalOptions, warn: (text: string) => void): ServerSettings {
  const address = layers.find('server.url');
  if (!address) throw failure('config_error', 'no server address', { hint: 'set [server] url in svc.toml, or SVC_SERVER_URL' });
  const baseUrl = parseAddress(address);
  const credential = findCredential(layers);
  if (!credential) throw failure('auth_error', 'no credential', { hint: 'set [server] token_file in svc.toml, or SVC_TOKEN' });
  if (rank[address.layer] > rank[credential.layer])
    throw failure(
      'config_error',
      `the address of ${address.where} is not sent the credential of ${credential.where}: it comes from a lower layer`,
      {
        hint: 'set the address and the token in the same place',
      },
    );
  if (baseUrl.protocol === 'http:' && !mayUsePlainHttp(baseUrl.hostname) && !allowsInsecure(layers, options))
    throw failure(
      'config_error',
      `${address.where}: plain http to ${baseUrl.hostname} would show the token to everybody on the way`,
      {
        hint: 'use https, or --allow-insecure',
      },
    );
  return { baseUrl, token: readToken(credential, warn), source: credential.where, ca: readAuthority(layers) };
}

type Credential = Layered & { kind: 'token' | 'token_file' | 'oidc' };

const rank = { global: 1, project: 2, environment: 3 } satisfies Record<LayerName, number>;

/** The highest layer that has one decides; in a layer a token wins over `[server.oidc]` (CL-07). */
function findCredential(layers: Layers): Credential | undefined {
  const token = layers.inEnvironment('server.token');
  if (token) return { ...token, kind: 'token' };
  for (const file of layers.files) {
    const found = credentialOf(layers, file);
    if (found) return found;
  }
  return undefined;
}

function credentialOf(layers: Layers, file: FileLayer): Credential | undefined {
  for (const kind of ['token', 'token_file'] as const) {
    const value = layers.inFile(file, `server.${kind}`);
    if (value) return { ...value, kind };
  }
  if (!file.hasOidc) return undefined;
  return { kind: 'oidc', text: '', layer: file.kind, where: `${file.path}: [server.oidc]`, directory: file.directory };
}

function readToken(credential: Credential, warn: (text: string) => void): string {
  if (credential.kind === 'oidc')
    throw failure('auth_error', `${credential.where}: sign-in through an identity provider is not available in this version`, {
      hint: 'use an API token: [server] token_file, or SVC_TOKEN',
    });
  const text = credential.kind === 'token' ? credential.text : readTokenFile(credential, warn);
  const token = text.trim();
  if (!/^[\x21-\x7e]{12,8192}$/.test(token)) throw failure('auth_error', `${credential.where}: this is no token`);
  return token;
}

function readTokenFile(credential: Credential, warn: (text: string) => void): string {
  const path = resolve(credential.directory, credential.text);
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      warn(`${path} can be read by others; run chmod 600 on it`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw failure(
      'config_error',
      `${credential.where}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`,
    );
  }
}

function parseAddress(address: Layered): URL {
  const url = URL.canParse(address.text) ? new URL(address.text) : null;
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url === null || !isPlain || !['http:', 'https:'].includes(url.protocol))
    throw failure('config_error', `${address.where}: not an address of the form http(s)://host:port`);
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

function allowsInsecure(layers: Layers, options: GlobalOptions): boolean {
  if (options.allowInsecure === true) return true;
  return ['true', '1'].includes(layers.find('server.allow_insecure')?.text ?? '');
}

function readAuthority(layers: Layers): string | null {
  const file = layers.find('server.ca_file');
  if (!file) return null;
  const path = resolve(file.directory, file.text);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw failure(
      'config_error',
      `${file.where}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`,
    );
  }
}
