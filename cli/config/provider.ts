import { isLoopbackHost } from '../../domain/loopback.js';
import { failure } from '../failure.js';
import type { FileLayer } from './file.js';
import type { Layers } from './layers.js';

/** `[server.oidc]` of one file (CL-04): all keys come from the same layer, so that no other file can lead a login astray. */
export interface ProviderSettings {
  /** As configured; the provider must name itself the same, byte for byte. */
  issuer: string;
  clientId: string;
  /** Where the discovery document is. */
  discoveryUrl: string;
  /** Replaces the token address. */
  backchannelUrl: string | null;
  /** Replaces the authorize address. */
  browserUrl: string | null;
  scopes: string;
  bearer: 'auto' | 'access' | 'id';
  /** Plain http to other hosts than this one is allowed. */
  isInsecure: boolean;
  where: string;
}

const standardScopes = 'openid profile email offline_access';

/** The file whose `[server.oidc]` counts, whether a token goes before it or not. */
export function providerFile(layers: Layers): FileLayer | undefined {
  return layers.files.find((file) => file.hasOidc);
}

/** `config_error` where a key is missing or its value is not an address. */
export function providerSettings(layers: Layers, file: FileLayer, isInsecure: boolean): ProviderSettings {
  const where = `${file.path}: [server.oidc]`;
  const read = (key: string) => layers.inFile(file, `server.oidc.${key}`)?.text || null;
  const required = (key: string) => {
    const text = read(key);
    if (text === null) throw failure('config_error', `${where}: ${key} is missing`);
    return text;
  };
  const address = (key: string) => {
    const text = read(key);
    if (text !== null) requireProviderAddress(text, `${where}: ${key}`, isInsecure);
    return text;
  };
  const issuer = required('issuer');
  requireProviderAddress(issuer, `${where}: issuer`, isInsecure);
  const bearer = read('bearer') ?? 'auto';
  if (bearer !== 'auto' && bearer !== 'access' && bearer !== 'id')
    throw failure('config_error', `${where}: bearer must be auto, access or id`);
  return {
    issuer,
    clientId: required('client_id'),
    discoveryUrl: address('discovery_url') ?? `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`,
    backchannelUrl: address('backchannel_url'),
    browserUrl: address('browser_url'),
    scopes: read('scopes') ?? standardScopes,
    bearer,
    isInsecure,
    where,
  };
}

/** Codes and tokens go there, so plain http only to this machine (HD-82). `where` says who names the address. */
export function requireProviderAddress(text: string, where: string, isInsecure: boolean): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.hash !== '')
    throw failure('config_error', `${where}: not a valid address (https://host)`);
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname) && !isInsecure)
    throw failure('config_error', `${where}: plain http to ${url.hostname} would expose the login on the network`, {
      hint: 'use https; else --allow-insecure, or allow_insecure = true under [server] of your own config.toml',
    });
}

/** What a person who trusts the file agrees to: every address that the file leads the login to (HD-60). */
export function providerText(layers: Layers, file: FileLayer): string {
  const keys = ['issuer', 'client_id', 'discovery_url', 'browser_url', 'backchannel_url'];
  return keys.flatMap((key) => layers.inFile(file, `server.oidc.${key}`)?.text || []).join(' ');
}
