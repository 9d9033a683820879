import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';

const toml = [databaseToml('shop', ['staging']), dbaTeamToml, needsDbaToml()].join('');

let api: TestApi;
let target: TestDatabase;
let agent: TestAgent;
let dana: string;
beforeAll(async () => {
  [api, target] = await Promise.all([startTestApi({ toml }), createEmptyDatabase()]);
  dana = await api.createUser('dana', { roles: ['requester'] });
  agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url });
});
afterAll(async () => {
  agent.stop();
  expect(await agent.exit).toBe(0);
  await api.close();
  await target.drop();
});

const pair = { database: 'shop', environment: 'staging' };

it('an agent plans the statements of a request for its approvers, and what preflight asks for', async () => {
  const known = () => api.services.database.query('select 1 from agents');
  await expect.poll(async () => (await known()).length, { timeout: 10_000 }).toBe(1);
  const detail = 'select 1 as a; ';
  const created = await api.call('POST', '/api/requests', { token: dana, body: { ...pair, detail } });
  const context = async () => (await api.call('GET', `/api/requests/${created.body.id}`, { token: dana })).body.context;
  await expect.poll(async () => (await context()).status, { timeout: 10_000 }).toBe('ready');
  expect((await context()).explain).toMatchObject([{ sql: 'select 1 as a', plan: [{ Plan: { 'Node Type': 'Result' } }] }]);

  const asked = (sql: string) => api.call('POST', '/api/preflight', { token: dana, body: { ...pair, sql } });
  const planned = await asked('values (1), (2)');
  expect(planned.body.impact).toMatchObject({ status: 'completed', estimated_rows: 2, index_used: false });
  expect((await asked('select * from nowhere')).body.impact).toEqual({
    status: 'error',
    error: expect.stringContaining('relation "nowhere" does not exist'),
    unknown_name: true,
  });
});
