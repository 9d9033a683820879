import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGatewayClient, type GatewayClient } from '../../agent/gateway-client.js';
import { createKeyRing } from '../../agent/key-ring.js';
import { createStartedAttempts } from '../../agent/started-attempts.js';
import { defaultTimings, type Timings } from '../../agent/timings.js';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { type FakeApi, type FakeReply, startFakeApi } from '../support/fake-api.js';
import { eventually } from '../support/processes.js';

const [one, two, three] = [1, 2, 3].map((n) => signingKeyFromSeed(new Uint8Array(32).fill(n))) as [Key, Key, Key];
type Key = ReturnType<typeof signingKeyFromSeed>;
const listed = (...keys: Key[]): FakeReply => ({
  body: { keys: keys.map(({ keyId, publicKeyHex }) => ({ key_id: keyId, public_key: publicKeyHex })) },
});
const route = 'GET /api/public-key';

let api: FakeApi;
let client: GatewayClient;
let ended: AbortController;
let lines: string[];
beforeEach(async () => {
  api = await startFakeApi();
  client = createGatewayClient({ url: api.url, token: 'svc_test', ca: null, userAgent: 'test', connectTimeoutMs: 1000 });
  ended = new AbortController();
  lines = [];
});
afterEach(async () => {
  ended.abort();
  client.close();
  await api.close();
});

function ring(timings: Partial<Timings>, trustedKeys: string[] | null = null) {
  const write = (message: string) => void lines.push(message);
  const log = { error: write, warn: write, info: write, debug: write };
  const known = new Map([[one.keyId, one.publicKeyHex]]);
  return createKeyRing(known, { client, timings: { ...defaultTimings, ...timings }, trustedKeys, log, signal: ended.signal });
}

describe('the public keys that an agent knows (ET-27)', () => {
  it('are asked for every ten minutes, at most once in ten seconds besides', () => {
    expect([defaultTimings.keyRefreshMs, defaultTimings.keyRefreshAtMostEveryMs]).toEqual([600_000, 10_000]);
  });

  it('are those that were listed last: new ones come, and those that left the list are dropped', async () => {
    api.on(route, listed(one, two), listed(two, three));
    const keys = ring({ keyRefreshMs: 20, keyRefreshAtMostEveryMs: 1 });
    void keys.keepFresh();
    await eventually(() => keys.keys.size === 2 && keys.keys.has(two.keyId) && keys.keys.has(three.keyId));
    api.on(route, listed(three));
    await eventually(() => keys.keys.size === 1);
    expect([...keys.keys]).toEqual([[three.keyId, three.publicKeyHex]]);
  });

  it.each<[string, FakeReply]>([
    ['500', { status: 500, body: {} }],
    ['401', { status: 401, body: {} }],
    ['a broken connection', { drop: true }],
    ['no JSON', { body: 'oops' }],
    ['a list without a usable key', { body: { keys: [{ key_id: 'x', public_key: 'y' }] } }],
  ])('stay when the gateway answers %s, and that is logged', async (_, reply) => {
    api.on(route, reply);
    const keys = ring({ keyRefreshAtMostEveryMs: 1 });
    await keys.refresh();
    expect([...keys.keys.keys()]).toEqual([one.keyId]);
    expect(lines).toEqual(['public keys not refreshed']);
  });

  it('are asked for once, however many jobs name an unknown key; who comes too soon waits for the next time', async () => {
    api.on(route, listed(two), listed(three));
    const keys = ring({ keyRefreshAtMostEveryMs: 150 });
    await Promise.all(Array.from({ length: 20 }, () => keys.refresh()));
    expect([api.calls.length, keys.keys.has(two.keyId)]).toEqual([1, true]);
    await Promise.all(Array.from({ length: 20 }, () => keys.refresh()));
    expect([api.calls.length, keys.keys.has(three.keyId)]).toEqual([2, true]);
  });

  it('are asked for when a token names a key that is not known, and for no other token', async () => {
    api.on(route, listed(one, two));
    const keys = ring({ keyRefreshAtMostEveryMs: 1 });
    for (const token of ['', '{}', '{"key_id":5}', `{"key_id":"${one.keyId}"}`]) await keys.refreshFor(token);
    expect(api.calls).toHaveLength(0);
    for (let n = 0; n < 2; n += 1) await keys.refreshFor(`{"key_id":"${two.keyId}"}`);
    expect([api.calls.length, keys.keys.has(two.keyId)]).toEqual([1, true]);
  });

  it('keep nobody waiting when the agent ends', async () => {
    api.on(route, listed(two));
    const keys = ring({ keyRefreshAtMostEveryMs: 3_600_000 });
    await keys.refresh();
    const waiting = keys.refresh();
    ended.abort();
    await waiting;
    expect(api.calls).toHaveLength(1);
  });
});

describe('the attempts that an agent has started (ET-39)', () => {
  it('are remembered by request and fence, the newest ten thousand', () => {
    const started = createStartedAttempts();
    const attempt = (n: number, fence = 1) => started.add({ request_id: `request-${n}`, fence });
    expect([attempt(0), attempt(0), attempt(0, 2), attempt(0, 2), attempt(1)]).toEqual([true, false, true, false, true]);
    for (let n = 2; n < 10_000; n += 1) attempt(n);
    expect(attempt(9999)).toBe(false);
    expect(attempt(0, 2)).toBe(false);
    for (let n = 10_000; n < 10_010; n += 1) attempt(n);
    expect([attempt(0), attempt(10_009)], 'one long gone, whose token has ended by then').toEqual([true, false]);
  });
});
