import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { createTripwire, type Tripwire } from '../support/tripwire.js';
import { askOwn, reuseOpenId, saveNothingEarly } from '../support/unsaved-ids.js';

let postgres: Awaited<ReturnType<typeof openOwnPostgres>>;
let gateway: FakeGateway;
let wire: Tripwire;
let agent: TestAgent;

beforeAll(async () => {
  postgres = await openOwnPostgres();
  await ask(
    'create table parts (id int primary key, qty int); insert into parts values (1, 10), (2, 10); create table others (id int)',
  );
  await saveNothingEarly(postgres);
}, 120_000);
beforeEach(async () => {
  gateway = await startFakeGateway();
  wire = createTripwire();
  agent = startTestAgent({
    gateway,
    url: await wire.front('target', postgres.url('postgres')),
    timings: { commitProbeMs: 3000 },
  });
  await gateway.nextPoll((body) => Number(body.limit) > 0);
});
afterEach(async () => {
  agent.stop();
  await agent.exit;
  await Promise.all([gateway.close(), wire.close()]);
});
afterAll(() => postgres.close());

const ask = (sql: string) => askOwn(postgres.url, sql);

it.each([
  ['required', 'rolled_back', 'driver error: '],
  ['none', 'unknown', 'commit outcome unknown: '],
] as const)(
  'AP-37: a transaction that a crash took back is not taken for another that got its id (marker %s)',
  async (marker, outcome, why) => {
    const job = gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 11 where id = 1', marker });
    const held = await wire.next(({ bytes }) => bytes.includes('commit\0'));
    await reuseOpenId(postgres);
    held!.lose();
    const result = await job.result;
    expect(result).toMatchObject({ success: false, outcome, error_message: expect.stringContaining(why) });
    expect(await ask('select qty from parts where id = 1')).toEqual([{ qty: 10 }]);
  },
  60_000,
);

it('AP-37: the id of a transaction proves its commit where no crash lies between, also without a marker', async () => {
  const job = gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 12 where id = 2', marker: 'none' });
  (await wire.next(({ bytes }) => bytes.includes('commit\0')))!.passUnanswered();
  expect(await job.result).toMatchObject({ success: true, outcome: 'committed' });
  expect(await ask('select qty from parts where id = 2')).toEqual([{ qty: 12 }]);
}, 60_000);
