import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.js';
import { callsToml } from './calls-toml.js';
import { mcpCalls } from './mcp-calls.js';

let stored: TestDatabase;
let proxy: SwallowingProxy;
let api: TestApi;
let owner: string;
beforeAll(async () => {
  stored = await createTestDatabase();
  proxy = await startSwallowingProxy(Number(new URL(stored.url).port));
  const databaseUrl = Object.assign(new URL(stored.url), { hostname: '127.0.0.1', port: String(proxy.port) }).href;
  api = await startTestApi({ toml: callsToml, database: stored, databaseUrl });
  owner = await api.createUser('owner', { roles: ['requester'] });
});
afterAll(async () => {
  await api?.close();
  await proxy?.close();
  await stored?.drop();
});

it('a call is answered though PostgreSQL’s answer to its end is lost (MC-13)', async () => {
  const mcp = mcpCalls(api, owner);
  const session = await mcp.open();
  let lost = 0;
  // A connection’s first such statement carries its text.
  proxy.onClientData = (data) => {
    if (lost > 0 || !data.includes('delete from mcp_calls where id = $1')) return 'pass';
    lost += 1;
    return 'drop';
  };
  const prompts = { jsonrpc: '2.0', id: 1, method: 'prompts/list' };
  const { status, body } = await mcp.post(prompts, session);
  proxy.onClientData = null;
  expect(lost).toBe(1);
  expect(status).toBe(200);
  expect(body).toMatchObject({ id: 1, result: { prompts: expect.any(Array) } });
  expect((await mcp.post(prompts, session)).body.id).toBe(1);
});
