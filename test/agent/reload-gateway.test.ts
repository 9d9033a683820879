import { afterAll, beforeAll, expect, it } from 'vitest';
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

const executed = (id: string) => eventually(async () => (await bench.statusOf(id)) === 'executed', 60_000);
/** What the gateway has of the only agent. */
async function scopes(): Promise<string> {
  const { body } = await bench.api.call('GET', '/api/agents', { token: bench.api.tokens.admin });
  return (body.agents?.[0]?.capabilities.scopes ?? []).map((one: { database: string }) => one.database).join();
}

it('the gateway hears at once what is served, and a write that a cut poll had claimed for a removed database runs once (AP-19, AG-81)', async () => {
  let removed: readonly string[] | 'asked' | null = null;
  const withoutShop = () => agent.text.replace(`[databases.shop.staging]\nurl = "${bench.targetUrl}"\n`, '');
  proxy.onAnswer = async (path, body) => {
    if (path !== '/api/agent/poll' || (body.claims as unknown[]).length === 0 || removed !== null) return body;
    // Said at once: the reload lets the agent poll again before its outcome is known.
    removed = 'asked';
    removed = (await agent.reload(withoutShop())).removed;
    throw new Error('the poll was cut');
  };
  const id = await bench.create(`insert into entries values ('late')`);
  const tables = `[databases.reports.staging]\nurl = "${bench.targetUrl}"\n`;
  const agent = bench.start({ token: await bench.agentToken(), gateway: proxy, tables, pollWaitMs: 20_000 });
  await executed(id);
  expect(removed).toEqual(['shop/staging']);
  expect([await bench.words(), (await bench.newestRun(id)).fence]).toEqual([['late'], 1]);
  await eventually(async () => (await scopes()) === 'reports');
  const later = await bench.create(`insert into entries values ('later')`);
  expect(await agent.reload(agent.text)).toMatchObject({ outcome: 'applied', added: ['shop/staging'] });
  await executed(later);
  expect(await scopes()).toBe('shop,reports');
}, 180_000);
