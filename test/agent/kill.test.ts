import type pg from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { expectNeverTwice } from '../support/kill-rounds.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let target: pg.Client;

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  await target.query('create table counters (id int primary key, n int); insert into counters values (1, 0)');
});

afterAll(async () => {
  await target.end();
  await database.drop();
});

describe('an agent that is killed', () => {
  it('never applies a change twice or half, at any point of a run (AP-I3, AP-I4)', async () => {
    const done = "select fence::int from svc.svc_execution_marker where request_id = $1 and state = 'done'";
    await expectNeverTwice({
      url: database.url,
      detail: 'update counters set n = n + 1 where id = 1; select pg_sleep(0.03)',
      counter: async () => (await target.query('select n from counters')).rows[0].n,
      doneFences: async (requestId) => (await target.query(done, [requestId])).rows.map(({ fence }) => fence),
    });
  }, 120_000);
});
