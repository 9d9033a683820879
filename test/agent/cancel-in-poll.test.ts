import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

let bench: GatewayBench;
beforeAll(async () => {
  bench = await startGatewayBench();
});
afterAll(() => bench?.close());

it('a cancel reaches a running statement by the waiting poll, without a heartbeat (AG-82, AG-83)', async () => {
  const heartbeatMs = 600_000;
  bench.start({ token: await bench.agentToken(), pollWaitMs: 30_000, timings: { heartbeatMs } });
  const ids = [await bench.create('select pg_sleep(120)'), await bench.create('select pg_sleep(121)')];
  const sleeping = async () =>
    (await bench.target.query(`select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`))
      .rowCount;
  await eventually(async () => (await sleeping()) === 2);
  const agents = await bench.api.call('GET', '/api/agents', { token: bench.api.tokens.admin });
  expect(agents.body.agents[0].capabilities.features).toContain('cancel_in_poll');

  await bench.cancel(ids[0]!);
  await eventually(async () => (await bench.statusOf(ids[0]!)) === 'cancelled');
  expect([await sleeping(), await bench.statusOf(ids[1]!)]).toEqual([1, 'running']);
  await bench.cancel(ids[1]!);
  await eventually(async () => (await bench.statusOf(ids[1]!)) === 'cancelled');
});
