import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { rotateKeys } from '../../runtime/key-rotation.js';
import { type BasicAgent, startBasicAgent } from '../support/basic-agent.js';
import { type ClaimProxy, startClaimProxy } from '../support/claim-proxy.js';
import { eventually } from '../support/processes.js';
import { share } from '../support/share.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

let bench: GatewayBench;
const proxies: ClaimProxy[] = [];
beforeAll(async () => {
  bench = await startGatewayBench();
});
afterEach(async () => {
  await bench.stopAll();
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  await bench.target.query('delete from entries');
});
afterAll(() => bench?.close());

const between = share([5, 5, 8, 8], [10, 10, 15, 15]);

function rotate(now: boolean) {
  const { database } = bench.api.services;
  const work = { database, purpose: 'execution_token' as const, secretKey: new Uint8Array(32).fill(0x5e) };
  return rotateKeys(work, { overlapSecs: 86_400, now });
}

/** The keys that signed what this agent claimed, in order of first use. */
const keysSeen = (proxy: ClaimProxy) => [
  ...new Set(proxy.claims.map((claim) => JSON.parse(claim.execution_token).key_id as string)),
];

async function proxiedAgent(keyRefreshMs: number): Promise<ClaimProxy> {
  const proxy = await startClaimProxy(bench.api.url);
  proxies.push(proxy);
  bench.start({ gateway: proxy, token: await bench.agentToken(), head: 'max_concurrent_tasks = 1', timings: { keyRefreshMs } });
  await eventually(() => proxy.paths.includes('/api/agent/poll'), 15_000);
  return proxy;
}

it('through two rotations no claim of a running agent is refused, whether it knows one key or several (ET-19, ET-25, ET-I6)', async () => {
  const [steady, fresh] = [await proxiedAgent(600_000), await proxiedAgent(50)];
  const proxy = await startClaimProxy(bench.api.url);
  proxies.push(proxy);
  const scope = { database: 'shop', environment: 'staging' };
  const options = { token: await bench.agentToken(), targetUrl: bench.targetUrl, scope };
  const basic: BasicAgent = await startBasicAgent({ url: proxy.url, ...options });
  const first = basic.keyId;
  await basic.poll();

  const ids: string[] = [];
  let done = false;
  const ofBasic: string[] = [];
  const working = (async () => {
    while (!done) {
      ofBasic.push(...(await basic.work()));
      await sleep(20);
    }
  })();
  const flow = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      ids.push(await bench.create(`insert into entries values ('${ids.length}')`));
      if (n % 3 === 2) await bench.ended(ids.at(-1)!);
    }
  };
  const [atFirst, beforeUse, afterFirst, afterSecond] = between as [number, number, number, number];
  await flow(atFirst);
  const second = await rotate(false);
  await flow(beforeUse);
  expect(await rotate(true)).toBe(second);
  await flow(afterFirst);
  const third = await rotate(true);
  await flow(afterSecond);
  // Both agents that know one key must have had a job.
  while (steady.claims.length === 0 || proxy.claims.length === 0) {
    await flow(1);
    await bench.ended(ids.at(-1)!);
  }
  for (const id of ids) expect(await bench.ended(id)).toBe('executed');
  done = true;
  await working;

  expect(ids.length).toBeGreaterThanOrEqual(between.reduce((sum, count) => sum + count));
  expect((await bench.words()).length).toBe(ids.length);
  expect(await bench.calls.sql(`select 1 from audit_events where event_type = 'execution.failed'`)).toEqual([]);
  expect([keysSeen(steady), keysSeen(proxy)], 'signed with the key they were given').toEqual([[first], [first]]);
  expect([first, second, third]).toEqual(expect.arrayContaining(keysSeen(fresh)));
  // An agent that asks for the keys again keeps up.
  const given = () => bench.calls.sql('select 1 from agents where key_id = $1', [third]);
  await eventually(async () => (await given()).length === 1, 30_000);
  expect(ofBasic.length).toBe(proxy.claims.length);

  // A key that ends too early: an agent that can asks for the new one; one that cannot says plainly what is wrong, and runs nothing.
  await bench.calls.sql(`update signing_keys set not_after = clock_timestamp() - interval '1 ms' where status = 'retiring'`);
  await bench.stopAll();
  const refused = await bench.create(`insert into entries values ('refused')`);
  expect(await basic.work()).toEqual([refused]);
  expect(await bench.statusOf(refused)).toBe('failed');
  expect(await bench.newestRun(refused)).toMatchObject({ error_message: 'token verification failed: signature invalid' });
  expect(await bench.words()).not.toContain('refused');
}, 90_000);

it('a svc-agent whose key ends too early asks once for the new one, and runs what that signed (ET-27)', async () => {
  const proxy = await proxiedAgent(600_000);
  expect(await bench.ended(await bench.create(`insert into entries values ('before')`))).toBe('executed');
  await rotate(true);
  await bench.calls.sql(`update signing_keys set not_after = clock_timestamp() - interval '1 ms' where status = 'retiring'`);
  const asked = () => proxy.paths.filter((path) => path === '/api/public-key').length;
  expect(asked()).toBe(1);
  const ids = await Promise.all([1, 2, 3].map((n) => bench.create(`insert into entries values ('after ${n}')`)));
  for (const id of ids) expect(await bench.ended(id)).toBe('executed');
  expect(asked()).toBe(2);
}, 60_000);
