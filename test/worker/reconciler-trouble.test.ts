import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../runtime/metrics.js';
import { createReconciler } from '../../worker/reconciler.js';
import type { TemporalLink } from '../../worker/temporal-link.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { storeRequest, whileRefused } from '../support/requests.js';
import { log, statusOf } from './support.js';

let stored: TestDatabase;
let database: ReturnType<typeof openTestDatabase>;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
});
afterAll(async () => {
  await database.close();
  await stored.drop();
});
beforeEach(() => database.query('delete from outbox'));

const nobody = '00000000-0000-0000-0000-000000000000';

/** A Temporal that goes away with the look of number `looks`, of which every workflow was lost. */
function goingAway(looks: number): TemporalLink {
  let left = looks;
  return {
    use: () => {},
    find: async () => null,
    isUsable: () => left > 0,
    takeReturn: () => false,
    async call() {
      left -= 1;
      throw new Error('not found');
    },
  };
}

async function round(state: { overdue?: string[]; rebuiltTo?: string | null }, temporal = goingAway(0)) {
  const content = JSON.stringify({ overdue: [], fewer: false, rebuiltTo: null, ...state });
  await database.query(
    `insert into background_state (name, content, updated_at) values ('reconciler', $1, '-infinity')
     on conflict (name) do update set content = excluded.content, updated_at = excluded.updated_at`,
    [content],
  );
  const parts = { database, temporal, taskQueue: 'requests', maxBacklog: 1000, metrics: createMetrics('0.0.0'), log };
  await createReconciler({ ...parts, onMoved: () => {}, everyMs: 1000, graceMs: 0 }).once();
}

const stateNow = async () => {
  const [row] = await database.query<{ content: unknown }>(`select content from background_state where name = 'reconciler'`);
  return row?.content;
};
const told = async () =>
  (await database.query<{ id: string }>('select distinct request_id as id from outbox')).map(({ id }) => id).sort();

describe('a rebuild of workflows', () => {
  it('goes on where it was when Temporal is back, and starts nothing meanwhile (OP-73)', async () => {
    await storeRequest(database);
    await database.query('delete from outbox');
    await round({ rebuiltTo: nobody });
    expect(await told()).toEqual([]);
    expect(await stateNow()).toMatchObject({ rebuiltTo: nobody });
  });

  it('keeps what was found before Temporal went away (OP-73)', async () => {
    for (let n = 0; n < 40; n += 1) await storeRequest(database);
    await database.query('delete from outbox');
    const all = await database.query<{ id: string }>(`select id from requests where status = 'pending' order by id`);
    await round({ rebuiltTo: nobody }, goingAway(20));
    const { rebuiltTo } = (await stateNow()) as { rebuiltTo: string };
    const found = await told();
    expect(found.length).toBeLessThanOrEqual(19);
    const done = all.findIndex(({ id }) => id === rebuiltTo) + 1;
    expect(done).toBeGreaterThan(0);
    for (const { id } of all.slice(0, done)) expect(found).toContain(id);
  });
});

it('an overdue request that cannot be moved holds up no other (OP-80)', async () => {
  const [bad, good] = [await storeRequest(database), await storeRequest(database)];
  const late = `update requests set expires_at = clock_timestamp() - $2::int * interval '1 second' where id = $1`;
  await database.query(late, [bad, 20]);
  await database.query(late, [good, 10]);
  await whileRefused(database, bad, () => expect(round({ overdue: [bad, good] })).rejects.toThrow('this request cannot change'));
  expect(await statusOf({ database }, good)).toBe('expired');
  expect(await statusOf({ database }, bad)).toBe('pending');
  await round({ overdue: [bad] });
  expect(await statusOf({ database }, bad)).toBe('expired');
});
