import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { startCallsOnTwo } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls, untilTaken } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let elsewhere: GatewayCalls;
let close: () => Promise<void>;
let alice: string;
let bob: string;
beforeAll(async () => {
  const people = { alice: { roles: ['requester'] }, bob: { roles: ['requester'], groups: ['dba-team'] } };
  ({
    api,
    calls,
    elsewhere,
    close,
    tokens: { alice, bob },
  } = await startCallsOnTwo(people));
});
afterAll(() => close?.());

const withKey = async (key: string) =>
  (await calls.sql<{ count: number }>('select count(*) as count from requests where idempotency_key = $1', [key]))[0]!.count;
/** A busy machine takes long to send many calls. */
const patience = { timeout: 15_000 };
const eventCount = async () => (await calls.sql<{ count: number }>('select count(*) as count from audit_events'))[0]!.count;

describe('idempotency (section 3)', () => {
  it('answers a repeat with the request as it is now and writes nothing (RQ-32)', async () => {
    const over = { idempotency_key: 'once', reason: 'r' };
    const id = await calls.created(alice, over);
    await calls.act(bob, id, 'approve');
    const events = await eventCount();
    const again = await calls.create(alice, over);
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ id, status: 'approved', approvers: [], idempotent: true, expires_at: null });
    expect(await eventCount()).toBe(events);
  });

  it('takes aliases, defaults and the order of share_with as the same body (RQ-31)', async () => {
    const id = await calls.created(alice, {
      idempotency_key: 'same',
      share_with: ['bob', 'group:leads'],
      metadata: { a: 1, b: [2] },
    });
    const repeats = [
      { share_with: ['group:leads', 'user:bob', 'bob'], metadata: { b: [2], a: 1 } },
      { share_with: ['group:leads', 'bob'], metadata: { a: 1, b: [2] }, operation: 'query' },
      { share_with: ['bob', 'group:leads'], metadata: { a: 1, b: [2] }, operation: '', reason: ' ', emergency: false },
    ];
    for (const over of repeats) {
      const again = await calls.create(alice, { idempotency_key: 'same', ...over });
      expect([again.status, again.body.id]).toEqual([200, id]);
    }
  });

  it('RQ-31: takes null as the default, and tells emergency and allow_ddl apart', async () => {
    const dora = await api.createUser('dora', { roles: ['dba'] });
    const plain = { idempotency_key: 'plain', reason: 'r' };
    const id = await calls.created(dora, plain);
    const nulls = await calls.create(dora, { ...plain, metadata: null, share_with: [], operation: 'execute', allow_ddl: false });
    expect([nulls.status, nulls.body.id]).toEqual([200, id]);
    expect((await calls.create(dora, { ...plain, emergency: true })).status).toBe(409);
    const urgent = { idempotency_key: 'urgent', reason: 'r', emergency: true };
    await calls.created(dora, urgent);
    expect((await calls.create(dora, { ...urgent, allow_ddl: true })).status).toBe(409);
    expect((await calls.create(dora, urgent)).status).toBe(200);
  });

  it.each([
    ['environment', { environment: 'staging' }],
    ['database', { database: 'ledger' }],
    ['detail', { detail: 'select  1' }],
    ['operation', { operation: 'execute_dml' }],
    ['reason', { reason: 'other' }],
    ['metadata', { metadata: { a: 2 } }],
    ['no_result_store', { no_result_store: true }],
    ['share_with', { share_with: ['bob'] }],
  ])('refuses the key with another %s and names the request (RQ-33)', async (field, over) => {
    const key = `differs-${field}`;
    const id = await calls.created(alice, { idempotency_key: key });
    const answer = await calls.create(alice, { idempotency_key: key, ...over });
    expect([answer.status, answer.body.code]).toEqual([409, 'request.conflict']);
    expect(answer.body.hint).toContain(id);
    expect(await withKey(key)).toBe(1);
  });

  it('tells numbers of metadata apart that are one as doubles, and one number in two spellings not (RQ-31)', async () => {
    const create = (metadata: string) => {
      const raw = `{"database":"shop","environment":"production","detail":"select 1","idempotency_key":"digits","metadata":${metadata}}`;
      return api.call('POST', '/api/requests', { token: alice, raw, headers: { 'content-type': 'application/json' } });
    };
    const answers = [
      await create('{"n":9007199254740993,"m":1}'),
      await create('{ "m": 1.0, "n": 9007199254740993 }'),
      await create('{"n":9007199254740992,"m":1}'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 409]);
  });

  it('keeps keys of different requesters apart (RQ-30)', async () => {
    const [first, second] = [
      await calls.created(alice, { idempotency_key: 'shared' }),
      await calls.created(bob, { idempotency_key: 'shared', detail: 'select 2' }),
    ];
    expect(first).not.toBe(second);
  });

  it('does not use up the key of a creation that fails (RQ-34)', async () => {
    expect((await calls.create(alice, { idempotency_key: 'failed', detail: 'selec' })).status).toBe(400);
    expect((await calls.create(alice, { idempotency_key: 'failed' })).status).toBe(201);
  });

  it('asks for a creation permission before it looks at the key (RQ-17, RQ-18)', async () => {
    const key = 'demoted';
    const carol = await api.createUser('carol', { roles: ['requester'] });
    await calls.created(carol, { idempotency_key: key });
    await calls.sql(`update users set roles = '{approver}' where id = 'carol'`);
    expect((await calls.create(carol, { idempotency_key: key })).status).toBe(403);
  });

  it('replays a request whose pair has left the configuration (RQ-35)', async () => {
    const before = await startTestApi({ toml: callsToml });
    const withoutQa = callsToml.replace('"qa", ', '').replace('environment = "qa"', 'environment = "lab"');
    const dora = await before.createUser('dora', { roles: ['requester'] });
    const over = { idempotency_key: 'gone', environment: 'qa', reason: 'r' };
    const id = await gatewayCalls(before).created(dora, over);
    const after = await before.another({ toml: withoutQa });
    try {
      const again = await gatewayCalls(after).create(dora, over);
      expect([again.status, again.body.id]).toEqual([200, id]);
      const fresh = await gatewayCalls(after).create(dora, { ...over, idempotency_key: 'new' });
      expect([fresh.status, fresh.body.error]).toEqual([400, expect.stringContaining('not registered')]);
    } finally {
      await after.close();
      await before.close();
    }
  });
});

describe('idempotency under races (RQ-34)', () => {
  it('RQ-I7: makes one request of 50 concurrent creations on two processes', async () => {
    const over = { idempotency_key: 'race', environment: 'staging' };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => untilTaken(() => (index % 2 === 0 ? calls : elsewhere).create(alice, over))),
    );
    const statuses = answers.map(({ status }) => status);
    expect([statuses.filter((status) => status === 201).length, statuses.filter((status) => status === 200).length]).toEqual([
      1, 49,
    ]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await withKey('race')).toBe(1);
    expect(await calls.eventTypes(answers[0]!.body.id)).toEqual(['request.auto_approved', 'request.dispatched']);
  });

  it('RQ-I7: answers 200 to the bodies that won and 409 to the others', async () => {
    const details = Array.from({ length: 50 }, (_, index) => `select ${index % 5}`);
    const answers = await Promise.all(
      details.map((detail, index) =>
        untilTaken(() =>
          (index % 2 === 0 ? calls : elsewhere).create(alice, { idempotency_key: 'mixed', detail, environment: 'staging' }),
        ),
      ),
    );
    const winner = answers.findIndex(({ status }) => status === 201);
    expect(winner).toBeGreaterThanOrEqual(0);
    const expected = details.map((detail, index) => (index === winner ? 201 : detail === details[winner] ? 200 : 409));
    expect(answers.map(({ status }) => status)).toEqual(expected);
    expect(await withKey('mixed')).toBe(1);
  });

  it('RQ-34: those that wait for one key classify nothing, hold no connection and share one look', async () => {
    const { classifier, database, keyLines } = api.services;
    onTestFinished(() => void vi.restoreAllMocks());
    let finish = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { classify } = classifier;
    const classified = vi.spyOn(classifier, 'classify').mockImplementation(async (sql, ...rest) => {
      if (sql === 'selec 1') await held;
      return classify(sql, ...rest);
    });
    const line = vi.spyOn(keyLines, 'take');
    const writes = vi.spyOn(database, 'writeOnce');
    const queries = vi.spyOn(database, 'query');
    const looks = () =>
      queries.mock.calls.filter(([text, values]) => text.includes('idempotency_key = ') && values?.[1] === 'line').length;

    const leaving = new AbortController();
    const over = { idempotency_key: 'line', environment: 'staging', detail: 'selec 1' };
    const body = { database: 'shop', ...over };
    const refused = calls.create(alice, over);
    await vi.waitFor(() => expect(classified).toHaveBeenCalledTimes(1), patience);
    const gone = api.call('POST', '/api/requests', { token: alice, body, signal: leaving.signal }).catch(() => null);
    const waiting = Array.from({ length: 30 }, () => calls.create(alice, { ...over, detail: 'select 1' }));
    await vi.waitFor(() => expect(line).toHaveBeenCalledTimes(32), patience);
    leaving.abort();
    await gone;
    expect((await calls.created(alice, { idempotency_key: 'another' })).length).toBe(36);
    expect([looks(), classified.mock.calls.length, writes.mock.calls.length]).toEqual([1, 2, 1]);

    finish();
    expect((await refused).status).toBe(400);
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(29).fill(200), 201]);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    // One look each: that of the refused one, of the one that made it, and of all others together.
    expect([looks(), classified.mock.calls.length, writes.mock.calls.length]).toEqual([3, 3, 2]);
    expect((await calls.create(alice, { ...over, detail: 'select 1' })).status).toBe(200);
  });
});
