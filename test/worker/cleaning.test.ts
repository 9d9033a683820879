import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '../../db/client.js';
import { insertGeneration } from '../../db/generations.js';
import type { Notifications } from '../../db/notifications.js';
import type { SharedConfig } from '../../domain/policies.js';
import type { ResultStore } from '../../runtime/result-store.js';
import { openLocalResultStore } from '../../runtime/result-store-local.js';
import { createResultCleaner } from '../../worker/expired-results.js';
import { type Job, keepDoing } from '../../worker/job.js';
import { createOrphanCleaner } from '../../worker/orphans.js';
import { createPurge } from '../../worker/purge.js';
import { lockWaits } from '../support/active-statement.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { approve, claim, finish, storeRequest } from '../support/requests.js';
import { recordResult } from '../support/stored-result.js';
import { dayMs, keepResult, keysOf, age as makeOlder, recorded as recordedIn, toEnd } from './kept-results.js';

let stored: TestDatabase;
let database: Database;
let folder: string;
let results: ResultStore;
let root: string;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  folder = await mkdtemp(join(tmpdir(), 'svc-cleaning-'));
});
afterAll(async () => {
  await database.close();
  await stored.drop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await database.query('truncate requests, background_state, config_generations, tokens cascade');
  root = await mkdtemp(join(folder, 'results-'));
  results = await openLocalResultStore(root);
});

const resultTtlDays = () => 30;
const cleaner = (store = results, everyMs = 0) => createResultCleaner({ database, results: store, resultTtlDays, everyMs });
const purge = (store = results) => createPurge({ database, results: store, requestTtlDays: () => 90, everyMs: 0 });
const orphans = (store = results) =>
  createOrphanCleaner({ database, results: store, signal: new AbortController().signal, everyMs: 0 });

/** A store that cannot remove some of its objects. */
const failingFor = (broken: readonly { key: string }[]): ResultStore => ({
  ...results,
  remove: (key) => (broken.some((one) => one.key === key) ? Promise.reject(new Error('no')) : results.remove(key)),
});

/** Lists its objects by name, as an object store does. */
const inOrder = (store: ResultStore): ResultStore => ({
  ...store,
  async *objects() {
    const all = [];
    for await (const one of store.objects()) all.push(one);
    yield* all.sort((a, b) => (a.key < b.key ? -1 : 1));
  },
});

/** Does parts of a round, also those that fail, until a whole part has failed at nothing. */
async function untilRefusedNoMore(job: Job): Promise<void> {
  for (let parts = 0; parts < 10; parts += 1) {
    await database.query('truncate background_state');
    const failed = await job.once().then(
      () => false,
      () => true,
    );
    if (!failed) return;
  }
  throw new Error('the round never ends');
}

const executed = (agoMs = 0, retentionDays = 30) => keepResult(database, results, agoMs, retentionDays);
const age = (id: string, days: number) => makeOlder(database, id, days);
const recorded = () => recordedIn(database);
const keys = () => keysOf(results);
const requests = async () => (await database.query<{ id: string }>('select id from requests')).map((row) => row.id).sort();

describe('results whose time is over (RS-60)', () => {
  it('go with object and record, and no others', async () => {
    const over = await executed(30 * dayMs);
    const kept = await executed(30 * dayMs - 60_000);
    await toEnd(cleaner());
    expect(await recorded()).toEqual([kept.executionId]);
    expect(await keys()).toEqual([kept.key]);
    expect(await requests()).toEqual([over.id, kept.id].sort());
  });

  it('go earlier when the policy in force is shorter, and not later when it is longer', async () => {
    const shared = (days: number) => ({
      resultPolicies: [
        { id: 'a', database: 'shop', environment: '*', retentionDays: days, deliveryMode: 'both', access: [] },
        { id: 'b', database: '*', environment: '*', retentionDays: 1, deliveryMode: 'both', access: [] },
      ],
    });
    const policy = (days: number) =>
      database.transaction((tx) => insertGeneration(tx, 'd', shared(days) as unknown as SharedConfig));
    const [old, young] = [await executed(8 * dayMs), await executed(6 * dayMs)];
    const over = await executed(31 * dayMs);
    await policy(90);
    await toEnd(cleaner());
    expect(await recorded()).toEqual([old.executionId, young.executionId].sort());
    await policy(7);
    await toEnd(cleaner());
    expect(await recorded()).toEqual([young.executionId]);
    expect(await keys()).toEqual([young.key]);
    expect(over.key).not.toBe(young.key);
  });

  it('keep their record until the object is gone; one that cannot be removed stops no other', async () => {
    const all = [await executed(31 * dayMs), await executed(32 * dayMs), await executed(33 * dayMs)];
    const broken = all[1]!;
    const failing: ResultStore = {
      ...results,
      remove: (key) => (key === broken.key ? Promise.reject(new Error('no')) : results.remove(key)),
    };
    await expect(cleaner(failing).once()).rejects.toThrow('no');
    expect(await recorded()).toEqual([broken.executionId]);
    expect(await keys()).toEqual([broken.key]);
    await database.query('truncate background_state');
    await toEnd(cleaner());
    expect(await recorded()).toEqual([]);
  });

  it('go although many that are older cannot be removed, which the next round tries again', async () => {
    const broken = [];
    for (let count = 0; count < 7; count += 1) broken.push(await executed(40 * dayMs));
    const fine = await executed(31 * dayMs);
    const store = failingFor(broken);
    const job = cleaner(store);
    await untilRefusedNoMore(job);
    expect(await recorded()).toEqual(broken.map(({ executionId }) => executionId).sort());
    expect(await keys()).not.toContain(fine.key);
    store.remove = results.remove;
    await toEnd(job);
    expect(await recorded()).toEqual([]);
  });

  it('stay while no generation holds under the secret key, as in a worker whose key was changed', async () => {
    const { executionId } = await executed(100 * dayMs, 365);
    const policy = { id: 'a', database: '*', environment: '*', retentionDays: 365, deliveryMode: 'both', access: [] };
    await database.transaction((tx) => insertGeneration(tx, 'd', { resultPolicies: [policy] } as unknown as SharedConfig));
    await database.query(`update config_generations set mac = repeat('0', 64)`);
    await expect(cleaner().once()).rejects.toThrow('secret key');
    expect(await recorded()).toEqual([executionId]);
    expect(await keys()).toHaveLength(1);
  });

  it('stay if they are in another backend', async () => {
    const { executionId } = await executed(31 * dayMs);
    await database.query(`update results set backend = 's3'`);
    await toEnd(cleaner());
    expect(await recorded()).toEqual([executionId]);
  });
});

it('while the clocks of Postgres and the worker are far apart, nothing is deleted for its age (OP-81)', async () => {
  const { id } = await executed(31 * dayMs);
  await age(id, 91);
  const orphan = `${randomUUID()}/${randomUUID()}`;
  await results.put(orphan, Buffer.from('x'));
  await utimes(join(root, orphan), 0, 0);
  const before = [await requests(), await recorded(), await keys()];
  const real = Date.now;
  for (const shiftMs of [-2 * 3_600_000, 2 * 3_600_000]) {
    vi.spyOn(Date, 'now').mockImplementation(() => real() + shiftMs);
    try {
      for (const job of [cleaner(), purge(), orphans()]) await expect(job.once()).rejects.toThrow('are 7200 s apart');
    } finally {
      vi.restoreAllMocks();
    }
    await database.query('truncate background_state');
  }
  expect([await requests(), await recorded(), await keys()]).toEqual(before);
  for (const job of [cleaner(), orphans(), purge()]) await toEnd(job);
  expect([await requests(), await recorded(), await keys()]).toEqual([[], [], []]);
});

it('a worker counts that it deletes nothing because of the clocks, so that its alert fires (OP-80, OP-81)', async () => {
  const real = Date.now;
  vi.spyOn(Date, 'now').mockImplementation(() => real() + 2 * 3_600_000);
  const stop = new AbortController();
  const counted: boolean[] = [];
  const onFailure = (_name: string, _error: unknown, unexpected: boolean) => {
    counted.push(unexpected);
    stop.abort();
  };
  await keepDoing(purge(), { notifications: {} as Notifications, signal: stop.signal, onFailure });
  vi.restoreAllMocks();
  expect(counted).toEqual([true]);
});

describe('rounds that processes share', () => {
  it('pass at once to another process when their own cannot do the work (OP-80)', async () => {
    const { executionId } = await executed(31 * dayMs);
    const broken: ResultStore = { ...results, remove: () => Promise.reject(new Error('no way to the store')) };
    await expect(cleaner(broken, 60_000).once()).rejects.toThrow('no way to the store');
    expect(await recorded()).toEqual([executionId]);
    await cleaner(results, 60_000).once();
    expect(await recorded()).toEqual([]);
  });

  it('are run by one of them at a time, and not again before their time', async () => {
    await executed(31 * dayMs);
    let removals = 0;
    const counting: ResultStore = {
      ...results,
      remove: (key) => {
        removals += 1;
        return results.remove(key);
      },
    };
    await Promise.all(Array.from({ length: 4 }, () => cleaner(counting, 60_000).once()));
    expect(removals).toBe(1);
    await executed(31 * dayMs);
    await cleaner(counting, 60_000).once();
    expect(removals).toBe(1);
    await database.query(`update background_state set content = '{"next_at":"2020-01-01T00:00:00Z"}'`);
    await cleaner(counting, 60_000).once();
    expect(removals).toBe(2);
  });

  it('come again when the clock of Postgres goes back after one', async () => {
    await executed(31 * dayMs);
    await cleaner(results, 60_000).once();
    expect(await recorded()).toEqual([]);
    const late = await executed(31 * dayMs);
    await database.query(
      `update background_state set content = jsonb_build_object('next_at', clock_timestamp() + interval '1 day')`,
    );
    await cleaner(results, 60_000).once();
    expect(await recorded()).toEqual([]);
    expect(await keys()).not.toContain(late.key);
  });

  it('pass to another process when their own was killed (OP-80)', async () => {
    const { executionId } = await executed(31 * dayMs);
    const killed: ResultStore = { ...results, remove: () => new Promise(() => {}) };
    void cleaner(killed).once();
    while ((await database.query('select 1 from background_state')).length === 0);
    await cleaner().once();
    expect(await recorded()).toEqual([executionId]);
    // A minute later.
    const [{ held } = { held: 0 }] = await database.query<{ held: number }>(
      `select (extract(epoch from (content->>'next_at')::timestamptz - clock_timestamp()))::int as held from background_state`,
    );
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThanOrEqual(60);
    await database.query(`update background_state set content = jsonb_build_object('next_at', clock_timestamp())`);
    await cleaner().once();
    expect(await recorded()).toEqual([]);
  });
});

describe('the purge of requests (RS-61)', () => {
  it('ST-20: removes what has been over for long, with all rows and objects, and nothing else', async () => {
    const gone = await executed();
    const plain = await storeRequest(database, { dispatched: true });
    await finish(database, plain, await claim(database, plain), false);
    const young = await executed();
    const open = await storeRequest(database);
    const approved = await storeRequest(database);
    await approve(database, approved);
    for (const id of [gone.id, plain, open, approved]) await age(id, 90);
    await age(young.id, 89);
    await toEnd(purge());
    expect(await requests()).toEqual([young.id, open, approved].sort());
    expect(await keys()).toEqual([young.key]);
    for (const table of ['executions', 'decisions', 'results', 'outbox', 'request_contexts', 'dry_run_jobs'])
      expect(await database.query(`select 1 from ${table} where request_id = any($1::uuid[])`, [[gone.id, plain]])).toEqual([]);
    expect(await database.query('select 1 from audit_events where request_id = $1', [gone.id])).not.toEqual([]);
  });

  it('ST-20: purges each final status', async () => {
    const statuses = ['executed', 'failed', 'rejected', 'cancelled', 'expired', 'execution_lost'];
    const others = ['pending', 'approved', 'dispatched', 'running'];
    const ids = new Map<string, string>();
    for (const status of [...statuses, ...others]) {
      const id = await storeRequest(database);
      ids.set(status, id);
      await database.query(`update requests set status = $2, updated_at = updated_at - interval '91 days' where id = $1`, [
        id,
        status,
      ]);
    }
    await toEnd(purge());
    expect(await requests()).toEqual(others.map((status) => ids.get(status)).sort());
  });

  it('lets the key of a request be used again (RQ-30)', async () => {
    const id = await storeRequest(database);
    await database.query(`update requests set idempotency_key = 'k', status = 'rejected' where id = $1`, [id]);
    await age(id, 91);
    await toEnd(purge());
    const next = await storeRequest(database);
    await database.query(`update requests set idempotency_key = 'k' where id = $1`, [next]);
    expect(await requests()).toEqual([next]);
  });

  it('goes on after a failed removal: the request stays until its object is gone', async () => {
    const [broken, fine] = [await executed(), await executed()];
    for (const { id } of [broken, fine]) await age(id, 100);
    const failing: ResultStore = {
      ...results,
      remove: (key) => (key === broken.key ? Promise.reject(new Error('no')) : results.remove(key)),
    };
    await expect(purge(failing).once()).rejects.toThrow('no');
    expect(await keys()).toEqual([broken.key]);
    expect(await recorded()).toEqual([broken.executionId]);
    await database.query('truncate background_state');
    await toEnd(purge());
    expect(await requests()).toEqual([]);
    expect(await keys()).toEqual([]);
  });

  it('goes on behind many requests whose objects cannot be removed, which the next round tries again (ST-20)', async () => {
    const broken = [];
    for (let count = 0; count < 7; count += 1) broken.push(await executed());
    for (const { id } of broken) await age(id, 100);
    const fine = await executed();
    await age(fine.id, 95);
    const store = failingFor(broken);
    const job = purge(store);
    await untilRefusedNoMore(job);
    expect(await requests()).toEqual(broken.map(({ id }) => id).sort());
    store.remove = results.remove;
    await toEnd(job);
    expect(await requests()).toEqual([]);
  });

  it('skips a request that somebody else holds', async () => {
    const kept = await executed();
    await age(kept.id, 100);
    await database.transaction(async (tx) => {
      await tx.query('select 1 from requests where id = $1 for no key update', [kept.id]);
      await purge().once();
    });
    expect(await keys()).toEqual([kept.key]);
    await toEnd(purge());
    expect(await requests()).toEqual([]);
  });

  it('works through more than one part', async () => {
    const first = await storeRequest(database);
    await database.query(`update requests set status = 'expired', updated_at = updated_at - interval '91 days' where id = $1`, [
      first,
    ]);
    const columns = await database.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = 'requests' and column_name <> 'id'`,
    );
    const names = columns.map(({ name }) => name).join(', ');
    await database.query(
      `insert into requests (id, ${names}) select gen_random_uuid(), ${names} from requests, generate_series(1, 1500)`,
    );
    expect(await purge().once()).toBe(0);
    expect((await requests()).length).toBe(501);
    await toEnd(purge());
    expect(await requests()).toEqual([]);
  });

  it('deletes revoked tokens and sessions that are over after the same time, and no others (IM-17)', async () => {
    await database.query(
      `insert into tokens (id, subject_type, subject_id, token_hash, token_prefix, name, revoked_at) values
         (gen_random_uuid(), 'user', 'a', '', '', 'old', clock_timestamp() - interval '90 days'),
         (gen_random_uuid(), 'user', 'a', '', '', 'young', clock_timestamp() - interval '89 days'),
         (gen_random_uuid(), 'user', 'a', '', '', 'active', null)`,
    );
    await database.query(
      `insert into tokens (id, subject_type, subject_id, token_hash, token_prefix, name, provisioning_kind, expires_at)
       select gen_random_uuid(), 'user', 'a', '', '', name, kind, clock_timestamp() - days * interval '1 day' from (values
         ('session of long ago', 'console', 90), ('session of late', 'console', 89), ('expired', null, 90)) as t (name, kind, days)`,
    );
    await toEnd(purge());
    const left = await database.query<{ name: string }>('select name from tokens order by name');
    expect(left.map(({ name }) => name)).toEqual(['active', 'expired', 'session of late', 'young']);
  });
});

describe('objects without a record (RS-49)', () => {
  async function makeOld(key: string): Promise<void> {
    const then = new Date(Date.now() - 2 * 3_600_000);
    await utimes(join(root, key), then, then);
  }

  it('are removed once they are old, with the pieces of broken writes; records and foreign files stay', async () => {
    const kept = await executed();
    const lost = await executed();
    await database.query('delete from results where execution_id = $1', [lost.executionId]);
    const purged = `${randomUUID()}/${randomUUID()}`;
    await results.put(purged, Buffer.from('x'));
    const piece = `${kept.key}.${randomUUID()}.tmp`;
    const young = await executed();
    await database.query('delete from results where execution_id = $1', [young.executionId]);
    const foreign = 'someone/else.txt';
    for (const key of [piece, foreign]) {
      await mkdir(dirname(join(root, key)), { recursive: true });
      await writeFile(join(root, key), 'x');
    }
    for (const key of [kept.key, lost.key, purged, piece, foreign]) await makeOld(key);
    await toEnd(orphans());
    expect(await keys()).toEqual([kept.key, young.key, foreign].sort());
  });

  it('are not removed while their submission holds the request, nor after it has written the record (RS-48)', async () => {
    const { id, executionId, key } = await executed();
    const [record] = await database.query<{ content_length: number; sha256: string }>(
      'select content_length, sha256 from results',
    );
    await database.query('delete from results where execution_id = $1', [executionId]);
    await makeOld(key);
    let cleaning: Promise<void> = Promise.resolve();
    await database.transaction(async (tx) => {
      await tx.query('select 1 from requests where id = $1 for update', [id]);
      cleaning = toEnd(orphans());
      await eventually(async () => (await database.query(lockWaits)).length > 0);
      const object = { length: record!.content_length, sha256: record!.sha256, validJson: true, retentionDays: 30 };
      const place = { backend: 'local', key };
      await recordResult(tx, id, { executionId, place, ...object }, Date.now());
    });
    await cleaning;
    expect(await keys()).toEqual([key]);
  });

  it('go although others cannot be removed, wherever those lie (RS-49)', async () => {
    const broken = [];
    for (let count = 0; count < 7; count += 1) broken.push({ key: `00000000-0000-4000-8000-000000000000/${randomUUID()}` });
    for (const { key } of broken) await results.put(key, Buffer.from('x'));
    for (let count = 0; count < 210; count += 1) await results.put(`${randomUUID()}/${randomUUID()}`, Buffer.from('x'));
    for (const key of await keys()) await makeOld(key);
    const store = failingFor(broken);
    await untilRefusedNoMore(orphans(inOrder(store)));
    expect(await keys()).toEqual(broken.map(({ key }) => key).sort());
  });

  it('go through a store of many', async () => {
    for (let index = 0; index < 450; index += 1) await results.put(`${randomUUID()}/${randomUUID()}`, Buffer.from('x'));
    for (const key of await keys()) await makeOld(key);
    await toEnd(orphans());
    expect(await keys()).toEqual([]);
  }, 60_000);
});
