import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { syncGeneration } from '../../runtime/generation.js';
import type { TestApi } from '../support/api.js';
import { databaseToml } from '../support/toml.js';
import { type AgentCalls, agentToml, type Body, coded, idsOf, pollBody, scope, startAgentApi } from './agent-calls.js';
import { untilWaiting } from './until-waiting.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml: `${databaseToml('crm', ['staging', 'fresh', 'old'], null)}${agentToml}` }));
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

/** Leaves the database `crm` these environments. */
async function register(environments: string[]): Promise<void> {
  const { shared } = api.config;
  const databases = shared.databases.map((one) => (one.name === 'crm' ? { ...one, environments } : one));
  const next = await syncGeneration(api.services.database, { ...api.config, shared: { ...shared, databases } });
  await expect.poll(() => api.services.generation().number, { timeout: 15_000 }).toBe(next.number);
}

/** One job at a time, of these two pairs. */
const oneOf = (environment: string, over: Body = {}) =>
  pollBody({ limit: 1, ...over }, { scopes: [scope('crm', environment), scope('shop', 'staging')] });
const claiming = { claim: true, instance_id: 'one', status: { in_flight: 0, max_concurrent: 1 } };

async function expectOnly(id: string, environment: string): Promise<void> {
  const agent = await calls.known(oneOf(environment, { limit: 0 }));
  expect(await agent.offered(oneOf(environment))).toEqual([id]);
  const { body } = await agent.poll(oneOf(environment, claiming));
  expect(body.claims.map((claim: Body) => claim.request_id)).toEqual([id]);
}

describe('a job that no agent can claim stands before no other one (AG-17, AG-I9)', () => {
  it('because its pair turned out to have another dialect', async () => {
    const stuck = await calls.dispatched('select 1', { database: 'crm' });
    const agent = await calls.known(oneOf('staging', { limit: 0 }));
    const schema = { database: 'crm', environment: 'staging', dialect: 'mysql', status: 'ready', snapshot: { tables: [] } };
    expect((await agent.post('schema-sync', schema)).status).toBe(200);
    expect(coded(await agent.claim(stuck))).toEqual([409, 'request.conflict']);
    await expectOnly(await calls.dispatched(), 'staging');
    expect(await calls.statusOf(stuck)).toBe('dispatched');
  });

  it('because its pair has left the configuration', async () => {
    await register(['staging', 'fresh', 'old']);
    const stuck = await calls.dispatched('select 1', { database: 'crm', environment: 'old' });
    await register(['staging', 'fresh']);
    await expectOnly(await calls.dispatched(), 'old');
    expect(await calls.statusOf(stuck)).toBe('dispatched');
  });

  it('but one of a pair whose dialect was unknown and is PostgreSQL is offered', async () => {
    const id = await calls.dispatched('select 1', { database: 'crm', environment: 'fresh' });
    const agent = await calls.known(oneOf('fresh', { limit: 0 }));
    const schema = { database: 'crm', environment: 'fresh', dialect: 'postgresql', status: 'ready', snapshot: { tables: [] } };
    expect((await agent.post('schema-sync', schema)).status).toBe(200);
    await expectOnly(id, 'fresh');
  });

  it('but one of a pair that was registered while the poll waited is offered (AG-23)', async () => {
    const agent = await calls.known(oneOf('later', { limit: 0 }));
    const { answer } = await untilWaiting(api, () => agent.poll(oneOf('later', { wait_ms: 30_000 })));
    await register(['staging', 'fresh', 'later']);
    const id = await calls.dispatched('select 1', { database: 'crm', environment: 'later' });
    expect(idsOf(await answer)).toEqual([id]);
  });
});
