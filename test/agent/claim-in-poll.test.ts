import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lockWaits } from '../support/active-statement.js';
import { type ClaimProxy, startClaimProxy } from '../support/claim-proxy.js';
import { eventually } from '../support/processes.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

let bench: GatewayBench;
let proxy: ClaimProxy;
beforeAll(async () => {
  bench = await startGatewayBench();
  proxy = await startClaimProxy(bench.api.url);
});
afterAll(async () => {
  await bench?.close();
  await proxy?.close();
});

it('the agent runs what its poll claimed, without a claim of its own; it names the feature (AG-80, AG-83)', async () => {
  const id = await bench.create('select 1');
  const agent = bench.start({ token: await bench.agentToken(), gateway: proxy });
  expect(await bench.ended(id)).toBe('executed');
  expect(proxy.paths.filter((path) => path.endsWith('/claim'))).toEqual([]);
  const agents = await bench.api.call('GET', '/api/agents', { token: bench.api.tokens.admin });
  expect(agents.body.agents[0].capabilities.features).toContain('claim_in_poll');
  agent.stop();
  expect(await agent.exit).toBe(0);
});

it('a write whose claim was lost with the answer to the poll runs once, in its first attempt (AG-81)', async () => {
  let lost = 0;
  proxy.onAnswer = (path, body) => {
    const loses = path === '/api/agent/poll' && (body.claims as unknown[]).length > 0 && lost === 0;
    if (!loses) return body;
    lost += 1;
    throw new Error('the connection breaks');
  };
  const id = await bench.create(`insert into entries values ('lost')`);
  const agent = bench.start({ token: await bench.agentToken(), gateway: proxy });
  expect(await bench.ended(id)).toBe('executed');
  const words = (await bench.words()).filter((word) => word === 'lost');
  expect([lost, words, (await bench.newestRun(id)).fence]).toEqual([1, ['lost'], 1]);
  proxy.onAnswer = null;
  agent.stop();
  expect(await agent.exit).toBe(0);
});

it('an agent that stops runs what its last poll claimed (AG-81, AP-17)', async () => {
  let stop = () => {};
  proxy.onAnswer = (path, body) => {
    if (path === '/api/agent/poll' && (body.claims as unknown[]).length > 0) {
      const now = stop;
      stop = () => {};
      now();
    }
    return body;
  };
  for (let round = 0; round < 5; round++) {
    const id = await bench.create(`select ${round}`);
    const agent = bench.start({ token: await bench.agentToken(), gateway: proxy });
    stop = agent.stop;
    expect(await bench.ended(id)).toBe('executed');
    expect(await agent.exit).toBe(0);
  }
  proxy.onAnswer = null;
});

it('an agent that stops while its poll claims runs what that claims (AG-81, AP-17)', async () => {
  await bench.target.query('truncate entries');
  const blocker = new pg.Client({ connectionString: bench.api.database.url });
  await blocker.connect();
  const id = await bench.create(`insert into entries values ('late')`);
  await blocker.query('begin');
  await blocker.query('select from requests where id = $1 for update', [id]);
  const agent = bench.start({ token: await bench.agentToken(), gateway: proxy, timings: { pollClaimsMs: 10_000 } });
  await eventually(async () => (await bench.calls.sql(lockWaits, [])).length > 0);
  const { length: before } = proxy.paths;
  agent.stop();
  await eventually(() => proxy.paths.length > before);
  await blocker.query('commit');
  await blocker.end();
  expect(await agent.exit).toBe(0);
  expect([await bench.statusOf(id), await bench.words(), (await bench.newestRun(id)).fence]).toEqual(['executed', ['late'], 1]);
});
