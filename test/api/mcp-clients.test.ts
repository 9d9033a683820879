import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { table } from '../support/snapshots.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import type { GatewayCalls } from './gateway-calls.js';
import { type Answers, officialClients } from './official-clients.js';

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<'owner' | 'approver', string>;
beforeAll(async () => {
  ({ api, calls, tokens } = await startCalls(ownerAndApprover, ['shop/production', 'shop/staging', 'shop/qa'], {
    toml: `${callsToml}\n[mcp]\ndefault_environment = "production"\n`,
  }));
  const synced = await api.call('POST', '/api/agent/schema-sync', {
    token: api.tokens.agent,
    body: {
      database: 'shop',
      environment: 'production',
      dialect: 'postgresql',
      status: 'ready',
      error_message: null,
      snapshot: { tables: [table('users')] },
    },
  });
  expect(synced.status).toBe(200);
});
afterAll(() => api?.close());

/** Open calls whose answers are streams. */
const streams = () => calls.sql('select 1 from mcp_calls where ended_at is null and streams').then(({ length }) => length);

const waitFor = (request_id: string) => ({ name: 'svc_wait_request', arguments: { request_id, include_result: false } });

/** A network that breaks a call's stream in the middle of the answer to its POST: behind the first message. */
function breaking(): { fetch: typeof fetch; resumes: () => string[] } {
  const resumed: string[] = [];
  return {
    resumes: () => resumed,
    fetch: async (url, init) => {
      const lastId = new Headers(init?.headers).get('last-event-id');
      if (lastId !== null) resumed.push(lastId);
      const answer = await fetch(url, init);
      const isCall = init?.method === 'POST' && String(init.body).includes('tools/call');
      if (!isCall || answer.body === null) return answer;
      const reader = answer.body.getReader();
      const body = new ReadableStream({
        async pull(controller) {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          controller.enqueue(value);
          if (!Buffer.from(value).includes('data: ')) return;
          await reader.cancel();
          controller.error(new TypeError('terminated'));
        },
      });
      return new Response(body, { status: answer.status, headers: answer.headers });
    },
  };
}

describe.each(officialClients)('the official client ($version)', ({ connect }) => {
  const connected = (answers?: Answers) => connect({ url: `${api.url}/mcp`, token: tokens.owner }, answers);

  it('calls every tool, and every structure fits its schema (MC-40, MC-I4)', async () => {
    const client = await connected();
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(9);
    const { id } = await calls.run(tokens.owner, { detail: 'select a from b' }, { success: true, result_data: '[]' });
    const asked: Record<string, object> = {
      svc_execute_query: { sql: 'select 1' },
      svc_migrate_status: {},
      svc_wait_request: { request_id: id },
      svc_list_pending: {},
      svc_who_can_approve: { request_id: id },
      svc_find_similar_requests: { sql: 'select a from b' },
      svc_explain_policy_failure: { request_id: id },
      svc_inspect_schema: { database: 'shop', table: 'users' },
      svc_preflight_sql: { sql: 'select 1', include_explain: false },
    };
    // The client compares each structure with the tool's output schema, and throws where they differ.
    for (const [name, args] of Object.entries(asked)) {
      const result = await client.callTool({ name, arguments: { ...args } });
      expect(result.isError, JSON.stringify(result.content)).toBe(false);
      expect(result.structuredContent).toBeTypeOf('object');
    }
    expect(tools.map(({ name }) => name).toSorted()).toEqual(Object.keys(asked).toSorted());
    // No agent has told of its tables.
    const refused = await client.callTool({ name: 'svc_inspect_schema', arguments: { database: 'ledger' } });
    expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^schema\.not_found: /) }] });
    await expect(client.callTool({ name: 'svc_wait_request', arguments: {} })).rejects.toThrow('request_id');
    await client.close();
  });

  it('reads every resource and gets every prompt', async () => {
    const client = await connected();
    const id = await calls.created(tokens.owner);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toHaveLength(3);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(3);
    const paths = ['migrations/status', 'requests/pending', `requests/${id}`, 'schema/shop', 'schema/shop/users'];
    for (const uri of paths.map((path) => `svc://${path}`)) {
      const { contents } = await client.readResource({ uri });
      expect(contents[0]).toMatchObject({ uri, mimeType: 'application/json', text: expect.stringMatching(/^[[{]/) });
    }
    for (const uri of ['svc://audit/recent', 'svc://schema/ledger', 'svc://schema/shop/nothing'])
      await expect(client.readResource({ uri }), uri).rejects.toThrow();
    const args: Record<string, Record<string, string>> = {
      explain_request: { request_id: id },
      draft_migration: { description: 'a column' },
      summarize_audit_trail: {},
      prepare_approval_comment: { request_id: id },
    };
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name).toSorted()).toEqual(Object.keys(args).toSorted());
    for (const [name, given] of Object.entries(args))
      expect((await client.getPrompt({ name, arguments: given })).messages.length).toBeGreaterThan(0);
    await client.close();
  });

  it('hears how a wait goes on, and cancels it (MC-13)', async () => {
    const client = await connected();
    const id = await calls.created(tokens.owner);
    const heard: unknown[] = [];
    const answer = client.callTool(waitFor(id), { onprogress: ({ message }) => heard.push(message) });
    await expect.poll(() => heard).toEqual(['the request is pending']);
    await calls.act(tokens.approver, id, 'approve');
    expect((await answer).structuredContent).toMatchObject({ status: 'approved' });
    expect(heard).toEqual(['the request is pending', 'the request is approved']);

    const stop = new AbortController();
    const cancelled = client.callTool(waitFor(await calls.created(tokens.owner)), { signal: stop.signal });
    const outcome = expect(cancelled).rejects.toThrow();
    await expect.poll(streams).toBe(1);
    stop.abort();
    await outcome;
    await expect.poll(streams).toBe(0);
    await client.ping();
    await client.close();
  });

  it('asks its user for the reason that a policy demands (MC-31)', async () => {
    const query = { name: 'svc_execute_query', arguments: { sql: 'select 1', environment: 'qa' } };
    const client = await connected({ action: 'accept', content: { reason: 'ticket 17' } });
    const { structuredContent } = await client.callTool(query);
    const { request_id: id } = structuredContent as { request_id: string };
    expect((await calls.show(tokens.owner, id)).body.reason).toBe('ticket 17');
    await client.close();
    const silent = await connected({ action: 'decline' });
    expect(await silent.callTool(query)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('reason is required') }],
    });
    await silent.close();
  });

  it('goes on with a stream whose connection broke, and misses nothing (MC-I2)', async () => {
    const broken = breaking();
    const client = await connect({ url: `${api.url}/mcp`, token: tokens.owner, fetch: broken.fetch });
    const id = await calls.created(tokens.owner);
    const heard: unknown[] = [];
    const wait = { name: 'svc_wait_request', arguments: { request_id: id } };
    const answer = client.callTool(wait, { onprogress: ({ message }) => heard.push(message) });
    await expect.poll(() => heard).toEqual(['the request is pending']);
    await calls.act(tokens.approver, id, 'approve');
    await expect.poll(() => broken.resumes().length).toBeGreaterThan(0);
    await expect.poll(async () => (await calls.show(tokens.owner, id)).body.status).toBe('dispatched');
    const { executionId } = await calls.claimed(id);
    await calls.submit(executionId, { success: true, result_data: '[]' });
    expect((await answer).structuredContent).toMatchObject({ status: 'executed' });
    expect(heard.slice(0, 2)).toEqual(['the request is pending', 'the request is approved']);
    expect(new Set(heard).size).toBe(heard.length);
    expect(broken.resumes()[0]).toMatch(/^[0-9a-f-]{36}:1$/);
    await client.close();
  });
});
