import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { patiently } from '../../api/audit/patient.js';
import { verifyLog } from '../../api/audit/verify.js';
import { eventHash } from '../../crypto/audit-hash.js';
import { sleep } from '../../lib/sleep.js';
import { rotateKeys } from '../../runtime/key-rotation.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll } from '../support/audit-api.js';
import { secretKey } from '../support/sealing.js';

const toml = `${shopToml}
[[auth.roles]]
name = "shop-auditor"
permissions = ["audit.read"]
databases = ["shop"]
`;
const hash = 'f'.repeat(64);

let api: TestApi;
let auditor: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  await sealAll(api);
  auditor = await api.createUser('anna', { roles: ['shop-auditor'] });
});
afterAll(() => api?.close());

const verify = (query = '', token = api.tokens.admin) => api.call('GET', `/api/audit/verify${query}`, { token });

it('needs audit.read on all pairs (AU-70)', async () => {
  expect((await api.call('GET', '/api/audit/events', { token: auditor })).status).toBe(200);
  expect(await verify('', auditor)).toMatchObject({ status: 403, body: { code: 'auth.forbidden' } });
  expect(await verify('', api.tokens.requester)).toMatchObject({ status: 403 });
});

it('refuses half an anchor and a malformed one', async () => {
  const bad = [
    `?anchor_seq=1`,
    `?anchor_hash=${hash}`,
    `?anchor_seq=1&anchor_hash=${hash.slice(1)}`,
    `?anchor_seq=1&anchor_hash=${hash.toUpperCase()}`,
    `?anchor_seq=0&anchor_hash=${hash}`,
    `?anchor_seq=1.5&anchor_hash=${hash}`,
    `?anchor_seq=-1&anchor_hash=${hash}`,
  ];
  for (const query of bad) expect(await verify(query)).toMatchObject({ status: 400, body: { code: 'validation.failed' } });
});

it('knows a head that a key signed which a rotation made just before (AU-40, AU-70)', async () => {
  const { services } = api;
  const work = { database: services.database, purpose: 'audit' as const, secretKey };
  const auditKeys: typeof services.auditKeys = async (db) => {
    const keys = await services.auditKeys(db);
    await rotateKeys(work, { overlapSecs: 3600, now: true });
    await api.createUser('newly');
    await sealAll(api);
    return keys;
  };
  const anchors = { event: null, tree: null };
  expect(await verifyLog({ database: services.database, auditKeys }, anchors, new AbortController().signal)).toMatchObject({
    valid: true,
    reason: null,
  });
  expect((await verify()).body).toMatchObject({ valid: true });
});

it('before the first event is sealed there is no head; afterwards unsealed events are counted (AU-70)', async () => {
  const other = await startTestApi({ toml });
  onTestFinished(() => other.close());
  const verifyOther = () => other.call('GET', '/api/audit/verify', { token: other.tokens.admin });
  const { body: before } = await verifyOther();
  expect(before).toMatchObject({ valid: false, reason: 'head_missing', sealed: 0, head_seq: null, head_hash: null });
  expect(before.unsealed).toBe(before.total_events);
  expect(before.oldest_unsealed_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  await sealAll(other);
  const { body: sealed } = await verifyOther();
  expect(sealed).toMatchObject({ valid: true, unsealed: 0, sealed: before.total_events, head_seq: before.total_events });
  await other.createUser('berta');
  const { body: after } = await verifyOther();
  expect(after).toMatchObject({ valid: true, sealed: sealed.sealed });
  expect(after.unsealed).toBeGreaterThan(0);
  expect(after.total_events).toBe(after.sealed + after.unsealed);
});

it('a search shows the texts that were hashed (AU-2)', async () => {
  const { events } = (await api.call('GET', '/api/audit/events?limit=200', { token: api.tokens.admin })).body;
  const sealed = events.filter(({ seq }: { seq: number | null }) => seq !== null);
  expect(sealed.length).toBeGreaterThan(3);
  for (const event of sealed) expect(eventHash(event)).toBe(event.event_hash);
});

it('several at once have the same answer, one after the other', async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, () => verify()));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
});

it('blocks no writer, and writes of others do not show in its snapshot (AU-70)', async () => {
  const [answer] = await Promise.all([verify(), api.createUser('carla'), sealAll(api)]);
  expect(answer.body).toMatchObject({ valid: true });
  await sealAll(api);
});

describe('an answer that takes long (HT-131)', () => {
  const partsOf = async (work: Promise<unknown>, onPart = (_count: number) => {}) => {
    const { body } = await patiently(work, { beginMs: 20, stillThereMs: 20 });
    if (body.kind !== 'stream') return body;
    const parts: string[] = [];
    for await (const part of body.parts) onPart(parts.push(String(part)));
    return parts;
  };

  it('begins with blanks and is still JSON', async () => {
    let finish = (_answer: unknown) => {};
    const work = new Promise((resolve) => {
      finish = resolve;
    });
    const parts = await partsOf(work, (count) => count === 2 && finish({ valid: true }));
    expect(parts).toEqual([' ', ...(parts as string[]).slice(1, -1).map(() => ' '), '{"valid":true}']);
    expect((parts as string[]).length).toBeGreaterThan(2);
  });

  it('is an ordinary one when it does not', async () => {
    expect(await partsOf(Promise.resolve({ valid: true }))).toEqual({ kind: 'value', value: { valid: true } });
    await expect(partsOf(Promise.reject(new Error('away')))).rejects.toThrow('away');
  });

  it('breaks off when the work fails', async () => {
    await expect(partsOf(sleep(50).then(() => Promise.reject(new Error('away'))))).rejects.toThrow('away');
  });
});
