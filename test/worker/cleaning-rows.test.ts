import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { insertGeneration } from '../../db/generations.js';
import { endOnboarding } from '../../db/slack-onboardings.js';
import type { SharedConfig } from '../../domain/policies.js';
import type { ResultStore } from '../../runtime/result-store.js';
import { openLocalResultStore } from '../../runtime/result-store-local.js';
import { createResultCleaner } from '../../worker/expired-results.js';
import type { Job } from '../../worker/job.js';
import { createOrphanCleaner } from '../../worker/orphans.js';
import { createPurge } from '../../worker/purge.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { storedOnboarding } from '../support/stored-onboarding.js';
import { age, dayMs, keepInRow, keepResult, keysOf, recorded, toEnd } from './kept-results.js';

let stored: TestDatabase;
let database: Database;
let folder: string;
let results: ResultStore;
let root: string;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  folder = await mkdtemp(join(tmpdir(), 'svc-cleaning-rows-'));
});
afterAll(async () => {
  await database?.close();
  await stored?.drop();
  await rm(folder, { recursive: true, force: true });
});
afterEach(async () => {
  for (const table of ['requests', 'results']) await database.query(`drop trigger if exists refuse_more on ${table}`);
});
beforeEach(async () => {
  await database.query('truncate requests, background_state, config_generations cascade');
  root = await mkdtemp(join(folder, 'results-'));
  results = await openLocalResultStore(root);
});

const nextRound = () => database.query('truncate background_state');
const cleaner = (store: ResultStore) => createResultCleaner({ database, results: store, resultTtlDays: () => 30, everyMs: 0 });
const purge = (store: ResultStore) => createPurge({ database, results: store, requestTtlDays: () => 90, everyMs: 0 });
const orphans = () => createOrphanCleaner({ database, results, signal: new AbortController().signal, everyMs: 0 });
const requests = async () => (await database.query<{ id: string }>('select id from requests')).map(({ id }) => id).sort();

/** A store that cannot be reached. */
const away = (): ResultStore => ({
  ...results,
  remove: () => Promise.reject(new Error('away')),
  read: () => Promise.reject(new Error('away')),
});

describe('small results whose time is over (RS-60, RS-63)', () => {
  it('go with their bytes, and no others', async () => {
    const over = await keepInRow(database, 30 * dayMs);
    const kept = await keepInRow(database, 30 * dayMs - 60_000);
    await toEnd(cleaner(results));
    expect(await recorded(database)).toEqual([kept.executionId]);
    expect(await requests()).toEqual([over.id, kept.id].sort());
  });

  it('go earlier when the policy in force is shorter', async () => {
    const old = await keepInRow(database, 8 * dayMs);
    const young = await keepInRow(database, 6 * dayMs);
    await toEnd(cleaner(results));
    expect(await recorded(database)).toEqual([old.executionId, young.executionId].sort());
    const policy = { id: 'a', database: 'shop', environment: '*', retentionDays: 7, deliveryMode: 'both', access: [] };
    const shared = { resultPolicies: [policy] } as unknown as SharedConfig;
    await database.transaction((tx) => insertGeneration(tx, 'd', shared));
    await nextRound();
    await toEnd(cleaner(results));
    expect(await recorded(database)).toEqual([young.executionId]);
  });

  it('go while the store is away; its objects go once it is back', async () => {
    const object = await keepResult(database, results, 31 * dayMs);
    for (let count = 0; count < 3; count += 1) await keepInRow(database, 31 * dayMs);
    await expect(cleaner(away()).once()).rejects.toThrow('away');
    expect(await recorded(database)).toEqual([object.executionId]);
    await nextRound();
    await toEnd(cleaner(results));
    expect([await recorded(database), await keysOf(results)]).toEqual([[], []]);
  });

  it('go in more than one part, all of them before the store is asked', async () => {
    const { id, executionId } = await keepInRow(database, 31 * dayMs);
    await keepResult(database, results, 31 * dayMs);
    await copyExecution(id, executionId, 700);
    expect(await cleaner(away()).once()).toBe(0);
    expect(await recorded(database)).toHaveLength(202);
    await expect(cleaner(away()).once()).rejects.toThrow('away');
    expect(await recorded(database)).toHaveLength(1);
  });

  it('go in smaller parts where the database has no time for a whole one', async () => {
    const { id, executionId } = await keepInRow(database, 31 * dayMs);
    await copyExecution(id, executionId, 299);
    await refuseMore('results', 100);
    await untilQuiet(cleaner(results));
    expect(await recorded(database)).toEqual([]);
  });

  it('that a purge holds are left to it: the cleaner waits for nobody', async () => {
    const [held, free] = [await keepInRow(database, 31 * dayMs), await keepInRow(database, 31 * dayMs)];
    await database.transaction(async (tx) => {
      await tx.query('select 1 from results where execution_id = $1 for update', [held.executionId]);
      await cleaner(results).once();
    });
    expect(await recorded(database)).toEqual([held.executionId]);
    expect(free.executionId).not.toBe(held.executionId);
  });
});

/** As a database on a slow disk, which has no time for more rows in one statement. */
const refuseMore = async (table: string, rows: number) => {
  await database.query(
    `create or replace function refuse_more() returns trigger language plpgsql as $$ begin
       if (select count(*) from gone) > tg_argv[0]::int then raise exception 'too many' using errcode = 'query_canceled'; end if; return null;
     end $$`,
  );
  await database.query(
    `create trigger refuse_more after delete on ${table} referencing old table as gone for each statement execute function refuse_more(${rows})`,
  );
};

/** Does rounds of a job, some of which fail, until one has found nothing more. */
async function untilQuiet(job: Job): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    await nextRound();
    const pauseMs = await job.once().catch(() => 0);
    if (pauseMs > 0) return;
  }
}

/** Further executions of the request, each with a copy of the result. */
async function copyExecution(requestId: string, executionId: string, count: number): Promise<void> {
  const columns = async (table: string, but: string[]) =>
    (
      await database.query<{ name: string }>(
        'select column_name as name from information_schema.columns where table_name = $1 and column_name <> all($2::text[])',
        [table, but],
      )
    )
      .map(({ name }) => name)
      .join(', ');
  const [ofExecution, ofResult] = [
    await columns('executions', ['id', 'fence']),
    await columns('results', ['execution_id', 'request_id']),
  ];
  await database.query(
    `with copies as (
       insert into executions (id, fence, ${ofExecution})
       select gen_random_uuid(), fence + n, ${ofExecution} from executions, generate_series(1, $2::int) n where id = $1 returning id
     )
     insert into results (execution_id, request_id, ${ofResult})
     select c.id, $3, ${ofResult} from copies c, results r where r.execution_id = $1`,
    [executionId, count, requestId],
  );
}

describe('the purge of requests with small results (RS-61, RS-63)', () => {
  it('takes fewer where the database has no time for many', async () => {
    const { id } = await keepInRow(database);
    await age(database, id, 91);
    await database.query(
      `insert into requests select copy.* from requests r, generate_series(1, 299) n,
         jsonb_populate_record(r, jsonb_build_object('id', md5(n::text)::uuid, 'idempotency_key', null)) copy`,
    );
    await refuseMore('requests', 100);
    await untilQuiet(purge(results));
    expect(await requests()).toEqual([]);
  });

  it('takes the bytes with the request, while the store is away too', async () => {
    const [gone, young] = [await keepInRow(database), await keepInRow(database)];
    await age(database, gone.id, 90);
    await age(database, young.id, 89);
    await toEnd(purge(away()));
    expect(await requests()).toEqual([young.id]);
    expect(await recorded(database)).toEqual([young.executionId]);
  });

  it('keeps the request and its bytes until its objects are gone', async () => {
    const { id, executionId } = await keepInRow(database);
    await copyExecution(id, executionId, 1);
    const key = `${id}/${executionId}`;
    await results.put(key, Buffer.from('{"rows":[]}'));
    await database.query(`update results set backend = 'local', object_key = $2, data = null where execution_id = $1`, [
      executionId,
      key,
    ]);
    await age(database, id, 91);
    await expect(purge(away()).once()).rejects.toThrow('away');
    expect([await requests(), (await recorded(database)).length]).toEqual([[id], 2]);
    await nextRound();
    await toEnd(purge(results));
    expect([await requests(), await recorded(database), await keysOf(results)]).toEqual([[], [], []]);
  });
});

it('the purge takes onboardings that ended as long ago as requests', async () => {
  const [gone, young] = [await storedOnboarding(database), await storedOnboarding(database)];
  for (const id of [gone, young])
    await database.transaction((tx) => endOnboarding(tx, id, { status: 'rejected', by: 'otto', comment: 'no' }));
  await database.query(`update slack_onboardings set decided_at = decided_at - interval '90 days' where id = $1`, [gone]);
  await toEnd(purge(results));
  expect(await database.query('select id from slack_onboardings')).toEqual([{ id: young }]);
});

describe('objects without a record (RS-49, RS-63)', () => {
  it('are those of executions whose data is in the row too', async () => {
    const inRow = await keepInRow(database);
    const object = await keepResult(database, results);
    await results.put(inRow.key, Buffer.from('{"rows":[]}'));
    const then = new Date(Date.now() - 2 * 3_600_000);
    for (const { key } of [inRow, object]) await utimes(join(root, key), then, then);
    await toEnd(orphans());
    expect(await keysOf(results)).toEqual([object.key]);
    expect(await recorded(database)).toEqual([inRow.executionId, object.executionId].sort());
  });
});
