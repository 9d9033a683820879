import { isPublicKeyHex, keyIdOf } from '../crypto/ed25519.js';
import { readTokenFields } from '../domain/execution-token.js';
import { sleep } from '../lib/sleep.js';
import { type GatewayClient, isRefusal, saidBy } from './gateway-client.js';
import type { Log } from './log.js';
import { publicKeyAnswer } from './protocol.js';
import type { Timings } from './timings.js';
import { createOtherKeysLog, type KeysById, pinKeys } from './trusted-keys.js';

export type KeyFetch =
  /** `others`: ids of listed keys that are not pinned (HD-80). */
  | { ok: true; keys: KeysById; others: readonly string[] }
  | { ok: false; hard: boolean; why: string; retryAfterMs?: number | null };

/** What an answer without keys means, in words. */
const refusals: Readonly<Record<number, string>> = {
  401: 'the gateway does not take the agent token (status 401)',
  403: 'the token is not the token of an agent (status 403)',
  404: 'there is no gateway at server.url (status 404); is a part of its path missing?',
};

/** Fetches the public keys that the gateway lists and agent.toml trusts; waiting cannot fix a `hard` failure (AP-05). */
export async function fetchKeys(
  client: GatewayClient,
  { timings, trustedKeys }: { timings: Timings; trustedKeys: readonly string[] | null },
  signal: AbortSignal,
): Promise<KeyFetch> {
  let answer: Awaited<ReturnType<GatewayClient['get']>>;
  try {
    answer = await client.get(`/api/public-key${trustQuery(trustedKeys)}`, { timeoutMs: timings.httpMs, signal });
  } catch (error) {
    return { ok: false, hard: false, why: `not reached: ${(error as Error).message}` };
  }
  if (answer.status !== 200) {
    const said = answer.status === 403 ? saidBy(answer) : null;
    const why =
      said === null
        ? (refusals[answer.status] ?? `status ${answer.status}`)
        : `the gateway refuses the agent token: ${said} (status 403)`;
    return { ok: false, hard: isRefusal(answer), why, retryAfterMs: answer.retryAfterMs };
  }
  const parsed = publicKeyAnswer.safeParse(answer.body);
  const listed = parsed.success ? parsed.data.keys : [];
  const keys = new Map(
    listed
      .filter((one) => isPublicKeyHex(one.public_key) && keyIdOf(one.public_key) === one.key_id)
      .map((one) => [one.key_id, one.public_key]),
  );
  if (keys.size === 0) return { ok: false, hard: true, why: 'the server lists no usable public key' };
  return { ok: true, ...pinKeys(keys, trustedKeys) };
}

/** Lets the gateway sign with a key pinned here as long as it has one (ET-19); older gateways ignore it. */
const trustQuery = (trustedKeys: readonly string[] | null) =>
  trustedKeys === null ? '' : `?trusted=${trustedKeys.map(keyIdOf).join(',')}`;

export interface KeyRing {
  readonly keys: KeysById;
  /** Fetches the keys, after a pause if a fetch just happened; a failure keeps the known keys (ET-27). */
  refresh(): Promise<void>;
  /** Refreshes when a token names a key that is not known. */
  refreshFor(token: string): Promise<void>;
  /** Refreshes until the signal aborts. */
  keepFresh(): Promise<void>;
}

interface RingDependencies {
  client: GatewayClient;
  timings: Timings;
  trustedKeys: readonly string[] | null;
  log: Log;
  signal: AbortSignal;
}

/** The public keys an agent knows, starting with those fetched at startup (ET-27). */
export function createKeyRing(initial: KeysById, dependencies: RingDependencies): KeyRing {
  const { timings, log, signal } = dependencies;
  const known: Known = { keys: initial, fetchedAt: Number.NEGATIVE_INFINITY, tellOthers: createOtherKeysLog(log) };
  let running: Promise<void> | null = null;
  const refresh = () => {
    running ??= fetchAgain(known, dependencies).finally(() => {
      running = null;
    });
    return running;
  };
  return {
    get keys() {
      return known.keys;
    },
    refresh,
    async refreshFor(token) {
      const read = readTokenFields(token);
      const keyId = 'fields' in read ? read.fields.get('key_id') : undefined;
      if (typeof keyId === 'string' && !known.keys.has(keyId)) await refresh();
    },
    async keepFresh() {
      while (!signal.aborted) {
        await sleep(timings.keyRefreshMs, signal);
        if (!signal.aborted) await refresh();
      }
    },
  };
}

interface Known {
  keys: KeysById;
  fetchedAt: number;
  tellOthers: (others: readonly string[]) => void;
}

async function fetchAgain(known: Known, dependencies: RingDependencies): Promise<void> {
  const { client, timings, log, signal } = dependencies;
  await sleep(Math.max(0, known.fetchedAt + timings.keyRefreshAtMostEveryMs - performance.now()), signal);
  if (signal.aborted) return;
  known.fetchedAt = performance.now();
  const fetched = await fetchKeys(client, dependencies, signal);
  if (fetched.ok) {
    // Empty when no listed key is trusted: a key that left the list may have been stolen.
    known.keys = fetched.keys;
    known.tellOthers(fetched.others);
  } else if (!signal.aborted) log.warn('public keys not refreshed', { why: fetched.why });
}
