import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { createTripwire, type Tripwire } from '../support/tripwire.js';

let postgres: Awaited<ReturnType<typeof openOwnPostgres>>;
let gateway: FakeGateway;
let wire: Tripwire;
let agent: TestAgent;

beforeAll(async () => {
  postgres = await openOwnPostgres();
  await ask('create table parts (id int primary key, qty int); insert into parts values (1, 10); create table others (id int)');
  // A crash may lose what is not yet on disk; nobody puts it there earlier than a COMMIT does.
  await ask('alter system set autovacuum = off');
  await ask("alter system set wal_writer_delay = '10s'");
  await ask('select pg_reload_conf()');
}, 120_000);
beforeEach(async () => {
  gateway = await startFakeGateway();
  wire = createTripwire();
  agent = startTestAgent({
    gateway,
    url: await wire.front('target', postgres.url('postgres')),
    timings: { commitProbeEveryMs: 2500, commitProbeMs: 9000 },
  });
});
afterEach(async () => {
  agent.stop();
  await agent.exit;
  await Promise.all([gateway.close(), wire.close()]);
});
afterAll(() => postgres.close());

async function ask(sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: postgres.url('postgres') });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The first id that has not ended: that of a transaction that is open, where there is just one. */
const nextId = async () => BigInt((await ask('select pg_snapshot_xmax(pg_current_snapshot())::text as id'))[0]!.id as string);

it.each([
  ['required', 'rolled_back', 'driver error: '],
  ['none', 'unknown', 'commit outcome unknown: '],
] as const)(
  'AP-37: a transaction that a crash took back is not taken for another that got its id (marker %s)',
  async (marker, outcome, why) => {
    const job = gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 11 where id = 1', marker });
    const held = await wire.next(({ bytes }) => bytes.includes('commit\0'));
    // Asked without writing anything, since that would save the id.
    const taken = await nextId();
    await postgres.kill();
    held!.lose();
    await postgres.start();
    expect(await nextId(), 'the crash took the id back').toBeLessThanOrEqual(taken);
    while ((await nextId()) <= taken) await ask('insert into others values (1)');
    const result = await job.result;
    expect(result).toMatchObject({ success: false, outcome, error_message: expect.stringContaining(why) });
    expect(await ask('select qty from parts')).toEqual([{ qty: 10 }]);
  },
  60_000,
);

it('AP-37: the id of a transaction proves its commit where no crash lies between, also without a marker', async () => {
  const job = gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 12 where id = 1', marker: 'none' });
  (await wire.next(({ bytes }) => bytes.includes('commit\0')))!.passUnanswered();
  expect(await job.result).toMatchObject({ success: true, outcome: 'committed' });
  expect(await ask('select qty from parts')).toEqual([{ qty: 12 }]);
}, 60_000);
