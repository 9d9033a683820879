import { isPublicKeyHex, keyIdOf } from '../crypto/ed25519.js';
import type { GatewayClient } from './gateway-client.js';
import type { Log } from './log.js';
import { publicKeyAnswer } from './protocol.js';
import type { Timings } from './timings.js';
import { sleep } from './wait.js';

export type KeyFetch =
  | { ok: true; keys: ReadonlyMap<string, string> }
  | { ok: false; hard: boolean; why: string; retryAfterMs?: number | null };

/** What an answer that lists no keys means, in words. */
const refusals: Readonly<Record<number, string>> = {
  401: 'the gateway does not take the agent token (status 401)',
  403: 'the token is not the token of an agent (status 403)',
  404: 'there is no gateway at server.url (status 404); is a part of its path missing?',
};

/** Fetches the listed public keys by key id; `hard` failures cannot be cured by waiting (AP-05). */
export async function fetchKeys(client: GatewayClient, timings: Timings, signal: AbortSignal): Promise<KeyFetch> {
  let answer: Awaited<ReturnType<GatewayClient['get']>>;
  try {
    answer = await client.get('/api/public-key', { timeoutMs: timings.httpMs, signal });
  } catch (error) {
    return { ok: false, hard: false, why: `not reached: ${(error as Error).message}` };
  }
  if (answer.status !== 200) {
    const hard = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
    return { ok: false, hard, why: refusals[answer.status] ?? `status ${answer.status}`, retryAfterMs: answer.retryAfterMs };
  }
  const parsed = publicKeyAnswer.safeParse(answer.body);
  const listed = parsed.success ? parsed.data.keys : [];
  const keys = new Map(
    listed
      .filter((one) => isPublicKeyHex(one.public_key) && keyIdOf(one.public_key) === one.key_id)
      .map((one) => [one.key_id, one.public_key]),
  );
  return keys.size > 0 ? { ok: true, keys } : { ok: false, hard: true, why: 'the server lists no usable public key' };
}

export interface KeyRing {
  readonly keys: ReadonlyMap<string, string>;
  /** Fetches the keys, after a pause when that happened a moment ago; a failure keeps the known ones (ET-27). */
  refresh(): Promise<void>;
  /** Refreshes until the signal aborts. */
  keepFresh(): Promise<void>;
}

/** The public keys an agent knows, starting with those of its start (ET-27). */
export function createKeyRing(
  initial: ReadonlyMap<string, string>,
  dependencies: { client: GatewayClient; timings: Timings; log: Log; signal: AbortSignal },
): KeyRing {
  const { client, timings, log, signal } = dependencies;
  let keys = initial;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | null = null;
  const load = async () => {
    await sleep(Math.max(0, fetchedAt + timings.keyRefreshAtMostEveryMs - performance.now()), signal);
    if (signal.aborted) return;
    fetchedAt = performance.now();
    const fetched = await fetchKeys(client, timings, signal);
    if (fetched.ok) keys = fetched.keys;
    else if (!signal.aborted) log.warn('public keys not refreshed', { why: fetched.why });
  };
  const refresh = () => {
    running ??= load().finally(() => {
      running = null;
    });
    return running;
  };
  return {
    get keys() {
      return keys;
    },
    refresh,
    async keepFresh() {
      while (!signal.aborted) {
        await sleep(timings.keyRefreshMs, signal);
        if (!signal.aborted) await refresh();
      }
    },
  };
}
