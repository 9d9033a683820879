import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

let bench: GatewayBench;
beforeAll(async () => {
  bench = await startGatewayBench();
  await bench.target.query('create table counters (id integer primary key, n integer)');
  await bench.target.query('insert into counters values (1, 0)');
  bench.start({ token: await bench.agentToken() });
});
afterAll(() => bench?.close());

const counted = async () => (await bench.target.query('select n from counters')).rows[0].n;

it('a resume that is repeated, as after an answer that was lost, does not run a write again where several runs are allowed (RQ-88)', async () => {
  const id = await bench.create('update counters set n = n + 1 where id = 1');
  expect([await bench.ended(id), await counted()]).toEqual(['executed', 1]);
  const { fence } = (await bench.calls.show(bench.dana, id)).body;
  const resume = () => bench.calls.act(bench.dana, id, 'resume', { expected_fence: fence });
  expect((await resume()).status).toBe(200);
  expect([await bench.ended(id), await counted()]).toEqual(['executed', 2]);
  const again = await resume();
  expect([again.status, again.body.reason]).toEqual([409, 'already_dispatched']);
  expect([await bench.ended(id), await counted()]).toEqual(['executed', 2]);
});
