import type { PublicKey } from '../../domain/oidc/header.js';

/** Where the keys of a provider are. */
export interface Provider {
  issuer: string;
  /** Null: the provider's discovery document names it. */
  jwksUri: string | null;
}

/** Reads the JSON of an address. Rejects if that takes too long, is too large, or is no JSON with status 200. */
export type FetchJson = (url: string) => Promise<unknown>;

interface KeySetOptions {
  fetchJson: FetchJson;
  /** Called once for each fetch that failed. */
  onFailure?: (error: unknown) => void;
  /** Milliseconds that never go back. */
  now?: () => number;
}

export interface KeySet {
  /** The provider's keys. Rejects if none were ever fetched and the provider cannot be reached. */
  keys(): Promise<readonly PublicKey[]>;
  /** The same after a `kid` that is not among them: fetched again, at most once a minute (IM-32). */
  keysAnew(): Promise<readonly PublicKey[]>;
}

const keptMs = 3_600_000;
const againMs = 60_000;
/** So much longer, calls go on with kept keys while these are fetched. After that, nobody has come for a while, and a key that was withdrawn since must not pass. */
const besideMs = 60_000;
/** After a fetch that failed with nothing to serve meanwhile. */
const pauseMs = 2000;
const maxKeys = 100;

/**
 * Keeps the keys of one provider for an hour, and for as long as it cannot be reached. Calls that need them at the same moment share one fetch. While there are
 * keys to serve, only a call with a new `kid` waits for a fetch, or one after a time in which none came; not again for a provider that was away just before.
 */
export function createKeySet(provider: Provider, { fetchJson, onFailure, now = () => performance.now() }: KeySetOptions): KeySet {
  let kept: { keys: readonly PublicKey[]; at: number } | null = null;
  let triedAt = Number.NEGATIVE_INFINITY;
  let running: Promise<readonly PublicKey[]> | null = null;
  let failure: unknown = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  const refresh = () => {
    triedAt = now();
    running ??= fetchKeys(provider, fetchJson)
      .then((keys) => {
        kept = { keys, at: now() };
        return keys;
      })
      .catch((error: unknown) => {
        failure = error;
        failedAt = now();
        onFailure?.(error);
        if (kept === null) throw error;
        return kept.keys;
      })
      .finally(() => {
        running = null;
      });
    return running;
  };
  const mayTry = (ms: number) => now() - triedAt >= ms;
  return {
    async keys() {
      if (kept === null) {
        if (running === null && !mayTry(pauseMs)) throw failure;
        return running ?? refresh();
      }
      const overMs = now() - kept.at - keptMs;
      if (overMs >= 0 && running === null && mayTry(againMs)) refresh().catch(() => undefined);
      const isAway = now() - failedAt < 2 * againMs;
      return overMs >= besideMs && !isAway && running !== null ? running : kept.keys;
    },
    async keysAnew() {
      if (running !== null) return running;
      return mayTry(againMs) ? refresh() : (kept?.keys ?? []);
    },
  };
}

async function fetchKeys({ issuer, jwksUri }: Provider, fetchJson: FetchJson): Promise<readonly PublicKey[]> {
  const set = recordOf(await fetchJson(jwksUri ?? (await discover(issuer, fetchJson))));
  if (!Array.isArray(set.keys)) throw new Error('the key set has no keys');
  return set.keys.slice(0, maxKeys).filter((key) => typeof key === 'object' && key !== null);
}

/** The address of the keys in the provider's own document, which must be of this issuer. */
async function discover(issuer: string, fetchJson: FetchJson): Promise<string> {
  const document = recordOf(await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`));
  if (document.issuer !== issuer) throw new Error('the discovery document is of another issuer');
  const { jwks_uri: address } = document;
  const wanted = new URL(issuer).protocol;
  if (typeof address !== 'string' || !URL.canParse(address)) throw new Error('the discovery document names no key set');
  const { protocol } = new URL(address);
  if (protocol !== 'https:' && protocol !== wanted) throw new Error('the key set is not behind https');
  return address;
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
