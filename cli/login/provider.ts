import type { Configuration, CustomFetch, CustomFetchOptions, ServerMetadata } from 'openid-client';
import { type ProviderSettings, requireProviderAddress } from '../config/provider.js';
import type { Context } from '../context.js';
import { exchange, NoAnswer } from '../exchange.js';
import { CommandFailure, failure } from '../failure.js';
import { chooseWay } from '../way.js';
import type { StoredLogin } from './store.js';

/** The library that speaks OpenID Connect. Loaded only where a login is made, renewed or ended. */
export type Library = typeof import('openid-client');

export interface Provider {
  library: Library;
  config: Configuration;
  metadata: ServerMetadata;
  /** Calls from now on end with this signal. */
  until(signal: AbortSignal): void;
}

/** Reads the discovery document (CL-40): the issuer must be the configured one, and the settings replace its addresses. */
export async function discoverProvider(context: Context, settings: ProviderSettings, ca: string | null): Promise<Provider> {
  const fetchOf = providerFetch(context, ca, context.signal);
  const found = await readDiscovery(fetchOf, settings).catch((error: unknown) => {
    throw providerFailure(context, error);
  });
  if (found.issuer !== settings.issuer)
    throw failure(
      'config_error',
      `${settings.where}: the provider calls itself ${String(found.issuer)}, not ${settings.issuer}`,
      {
        hint: 'issuer must match exactly',
      },
    );
  const metadata = {
    ...found,
    ...(settings.browserUrl === null ? {} : { authorization_endpoint: settings.browserUrl }),
    ...(settings.backchannelUrl === null ? {} : { token_endpoint: settings.backchannelUrl }),
  } as ServerMetadata;
  for (const name of ['authorization', 'token', 'device_authorization', 'revocation'] as const) {
    const address = metadata[`${name}_endpoint`];
    if (address !== undefined)
      requireProviderAddress(String(address), `${settings.discoveryUrl}: ${name}_endpoint`, settings.isInsecure);
  }
  if (metadata.token_endpoint === undefined)
    throw failure('config_error', `${settings.discoveryUrl}: the provider names no token_endpoint`);
  return openProvider(context, metadata, settings.clientId, ca);
}

/** The provider of a login that was made before; asks nothing. */
export function providerOf(
  context: Context,
  { issuer, clientId, ca }: { issuer: string; clientId: string; ca: string | null },
  login: StoredLogin,
): Promise<Provider> {
  const { token_endpoint, revocation_endpoint } = login;
  const metadata = { issuer, token_endpoint, ...(revocation_endpoint === null ? {} : { revocation_endpoint }) };
  return openProvider(context, metadata, clientId, ca);
}

async function openProvider(context: Context, metadata: ServerMetadata, clientId: string, ca: string | null): Promise<Provider> {
  const library = await import('openid-client');
  const config = new library.Configuration(metadata, clientId, undefined, library.None());
  // Each address was checked before.
  library.allowInsecureRequests(config);
  const until = (signal: AbortSignal) => {
    config[library.customFetch] = providerFetch(context, ca, signal);
  };
  until(context.signal);
  return { library, config, metadata, until };
}

async function readDiscovery(fetchOf: CustomFetch, { discoveryUrl, where }: ProviderSettings): Promise<Record<string, unknown>> {
  const headers = { accept: 'application/json' };
  const answer = await fetchOf(discoveryUrl, { method: 'GET', headers, body: undefined, redirect: 'manual' });
  const text = await answer.text();
  if (answer.status === 200) {
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
    } catch {}
  }
  const problem = answer.status === 200 ? 'is no discovery document' : `answered ${answer.status}`;
  throw failure(answer.status >= 500 ? 'network_error' : 'config_error', `${where}: ${discoveryUrl} ${problem}`, {
    hint: 'check issuer and discovery_url',
  });
}

/** By the proxies, certificate authorities and times of every other call (CL-10); follows no redirect. */
function providerFetch(context: Context, ca: string | null, signal: AbortSignal): CustomFetch {
  const { limits, environment } = context.terminal;
  return async (address: string, { method, headers, body }: CustomFetchOptions) => {
    const url = new URL(address);
    const way = chooseWay(url, ca, environment);
    const text = body == null ? null : String(body);
    const length = text === null ? {} : { 'content-length': String(Buffer.byteLength(text)) };
    try {
      const {
        status,
        headers: answered,
        text: answer,
      } = await exchange({
        method,
        url,
        body: text,
        agent: way.agent,
        isForwarded: way.isForwarded,
        signal,
        headers: { ...headers, ...length, ...way.headers },
        connectMs: limits.connectMs,
        totalMs: limits.callMs,
      });
      const type = answered['content-type'];
      const hasBody = status >= 200 && ![204, 205, 304].includes(status);
      return new Response(hasBody ? answer : null, { status, headers: type === undefined ? {} : { 'content-type': type } });
    } catch (error) {
      throw error instanceof NoAnswer ? new ProviderSilent(url.origin, error) : error;
    } finally {
      way.agent.destroy();
    }
  };
}

/** No answer came from the provider. */
class ProviderSilent extends Error {
  constructor(origin: string, cause: NoAnswer) {
    super(`${origin}: ${cause.message}`, { cause });
  }
}

/** Whether a later try may well succeed. */
export function isPassing(error: unknown): boolean {
  return chain(error).some((one) => one instanceof ProviderSilent || ((one as { status?: unknown }).status as number) >= 500);
}

/** The `error` of an OAuth answer, or null. */
export function refusalOf(error: unknown): string | null {
  const { error: code } = error as { error?: unknown };
  return typeof code === 'string' ? code : null;
}

/** What a person is told. Texts of the library quote no token; those of the provider are cut. */
export function providerFailure({ what, signal }: Context, error: unknown): CommandFailure {
  const all = chain(error);
  const own = all.find((one) => one instanceof CommandFailure) ?? (signal.aborted ? signal.reason : undefined);
  if (own instanceof CommandFailure) return own;
  const silent = all.find((one) => one instanceof ProviderSilent);
  if (silent !== undefined)
    return failure('network_error', `${what}: ${silent.message}`, {
      hint: 'check that the identity provider is running and that issuer is right',
    });
  const refusal = refusalOf(error);
  if (refusal !== null) {
    const { error_description: description } = error as { error_description?: unknown };
    const reason = typeof description === 'string' ? `${refusal}: ${description}` : refusal;
    return failure('auth_error', `${what}: the provider refused: ${reason.slice(0, 300)}`);
  }
  const status = all.map((one) => (one as { status?: unknown }).status).find((one) => typeof one === 'number');
  const texts = all.flatMap((one) => (one instanceof Error ? one.message : [])).join(': ');
  const told = status === undefined ? texts : `${texts} (status ${status})`;
  return failure('auth_error', `${what}: the provider's answer is not accepted: ${told.slice(0, 300)}`);
}

/** The error and its causes. */
function chain(error: unknown): object[] {
  const all: object[] = [];
  for (let one = error; typeof one === 'object' && one !== null && all.length < 6; one = (one as { cause?: unknown }).cause)
    all.push(one);
  return all;
}
