import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import { databaseToml, dbaTeamToml, passesToml } from '../support/toml.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

let bench: GatewayBench;
beforeAll(async () => {
  bench = await startGatewayBench([databaseToml('shop', ['staging', 'production']), dbaTeamToml, passesToml()].join(''));
});
afterAll(() => bench?.close());

const tokenFor = async (scopes: string[]): Promise<string> => {
  const body = { subject_id: 'agent-scoped', subject_type: 'agent', agent_scopes: scopes };
  return (await bench.api.call('POST', '/api/tokens', { token: bench.api.tokens.admin, body })).body.token;
};

it('an agent says once which of its databases its token may not serve, and serves the others (HD-11)', async () => {
  const tables = `[databases.shop.production]\nurl = "${bench.targetUrl}"`;
  const agent = bench.start({ token: await tokenFor(['shop/staging']), tables, pollWaitMs: 100 });
  expect(await bench.ended(await bench.create('select 1'))).toBe('executed');
  await eventually(() => agent.lines.filter((line) => line.includes('schema not synced')).length === 1);
  const told = agent.lines.filter((line) => line.includes('may not serve'));
  expect(told).toEqual([expect.stringMatching(/^error the agent token may not serve these databases .*shop\/production/)]);
  expect(told[0]).not.toContain('shop/staging');
  const { body } = await bench.calls.create(bench.dana, { environment: 'production' });
  expect((await bench.calls.show(bench.dana, body.id)).body).toMatchObject({ status: 'dispatched', queue_hint: 'no_agents' });
});

it('an agent whose token says nothing does not start where scopes are required, and says what to do', async () => {
  const other = await startGatewayBench(
    [databaseToml('shop', ['staging']), dbaTeamToml, passesToml(), '[agents]\nrequire_scopes = true\n'].join(''),
  );
  try {
    const agent = other.start({ token: await other.agentToken() });
    expect(await agent.exit).toBe(1);
    expect(agent.lines.at(-1)).toContain('the gateway refuses the agent token: this agent token has no scopes (status 403)');
  } finally {
    await other.close();
  }
});
