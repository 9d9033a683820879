import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let dba: string;
beforeAll(async () => {
  api = await startTestApi({ toml: `${callsToml}\n[mcp]\ndefault_environment = "production"\n` });
  calls = gatewayCalls(api);
  owner = await api.createUser('owner', { roles: ['requester'] });
  dba = await api.createUser('dba', { groups: ['dba-team'] });
  await calls.poll(['shop/production', 'shop/staging', 'shop/qa']);
});
afterAll(() => api?.close());

/** The official client, as an agent uses it. */
async function connected(capabilities: object = {}): Promise<Client> {
  const client = new Client({ name: 'official', version: '2' }, { capabilities });
  const requestInit = { headers: { authorization: `Bearer ${owner}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit }));
  return client;
}

describe('the official client', () => {
  it('finds tools, resources and prompts, and every structure fits its schema (MC-I4)', async () => {
    const client = await connected();
    expect((await client.listTools()).tools).toHaveLength(9);
    expect((await client.listResources()).resources).toHaveLength(3);
    expect((await client.listPrompts()).prompts).toHaveLength(4);
    // It compares each structure with the tool's output schema, and throws where they differ.
    const { id } = await calls.run(owner, { detail: 'select a from b' }, { success: true, result_data: '[]' });
    const results = [
      await client.callTool({ name: 'svc_execute_query', arguments: { sql: 'select 1' } }),
      await client.callTool({ name: 'svc_migrate_status', arguments: {} }),
      await client.callTool({ name: 'svc_wait_request', arguments: { request_id: id } }),
      await client.callTool({ name: 'svc_list_pending', arguments: {} }),
      await client.callTool({ name: 'svc_who_can_approve', arguments: { request_id: id } }),
      await client.callTool({ name: 'svc_find_similar_requests', arguments: { sql: 'select a from b' } }),
      await client.callTool({ name: 'svc_explain_policy_failure', arguments: { request_id: id } }),
      await client.callTool({ name: 'svc_explain_policy_failure', arguments: {} }),
      await client.callTool({ name: 'svc_preflight_sql', arguments: { sql: 'select 1', include_explain: false } }),
    ];
    for (const result of results) {
      expect(result.isError, JSON.stringify(result.content)).toBe(false);
      expect(result.structuredContent).toBeTypeOf('object');
    }
    await client.close();
  });

  it('hears how a wait goes on, and cancels it', async () => {
    const client = await connected();
    const id = await calls.created(owner);
    const heard: unknown[] = [];
    const wait = { name: 'svc_wait_request', arguments: { request_id: id, include_result: false } };
    const answer = client.callTool(wait, { onprogress: ({ message }) => heard.push(message) });
    await expect
      .poll(() => calls.sql('select 1 from mcp_calls where ended_at is null and streams').then(({ length }) => length))
      .toBe(1);
    await calls.act(dba, id, 'approve');
    expect((await answer).structuredContent).toMatchObject({ status: 'approved' });
    expect(heard).toEqual(['the request is approved']);

    const stop = new AbortController();
    const pending = await calls.created(owner);
    const cancelled = client.callTool(
      { ...wait, arguments: { ...wait.arguments, request_id: pending } },
      { signal: stop.signal },
    );
    const outcome = expect(cancelled).rejects.toThrow();
    await expect
      .poll(() => calls.sql('select 1 from mcp_calls where ended_at is null and streams').then(({ length }) => length))
      .toBe(1);
    stop.abort();
    await outcome;
    await expect.poll(() => calls.sql('select 1 from mcp_calls where ended_at is null').then(({ length }) => length)).toBe(0);
    await client.close();
  });

  it('asks its user for the reason that a policy demands', async () => {
    const client = await connected({ elicitation: {} });
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { reason: 'ticket 17' } }));
    const { structuredContent } = await client.callTool({
      name: 'svc_execute_query',
      arguments: { sql: 'select 1', environment: 'qa' },
    });
    const { request_id: id } = structuredContent as { request_id: string };
    expect((await calls.show(owner, id)).body.reason).toBe('ticket 17');
    await client.close();
  });
});
