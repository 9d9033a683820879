import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callsToml } from '../api/calls-toml.js';
import { type GatewayCalls, gatewayCalls } from '../api/gateway-calls.js';
import { type Answers, type OfficialClient, officialClients } from '../api/official-clients.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { bridgeEnvironment, launcher, migrationsFolder } from './run-mcp.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let dba: string;
const folder = migrationsFolder();
const clients: OfficialClient[] = [];
beforeAll(async () => {
  api = await startTestApi({ toml: `${callsToml}\n[mcp]\ndefault_environment = "production"\n` });
  calls = gatewayCalls(api);
  owner = await api.createUser('owner', { roles: ['requester'] });
  dba = await api.createUser('dba', { groups: ['dba-team'] });
  await calls.poll(['shop/production', 'shop/staging', 'shop/qa']);
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(async () => {
  await api?.close();
  folder.remove();
});

const openCalls = () => calls.sql('select 1 from mcp_calls where ended_at is null and streams').then(({ length }) => length);

/** Waits for a migration of `owner` that an agent may take, and plays that agent. */
async function playAgent(operation: string, result: object): Promise<string> {
  let id = '';
  await expect
    .poll(async () => {
      const { body } = await calls.list(owner, `?operation=${operation}&status=dispatched`);
      id = body.requests[0]?.id ?? '';
      return id;
    })
    .not.toBe('');
  const { executionId } = await calls.claimed(id);
  await calls.submit(executionId, { success: true, result_data: JSON.stringify(result) });
  return id;
}

/** Runs an approved request once its approval was heard of: the older client drops progress that comes in one piece with the answer. */
async function ended(id: string, heard: unknown[]): Promise<void> {
  await expect.poll(() => heard.slice(0, 2)).toEqual(['the request is pending', 'the request is approved']);
  await expect.poll(async () => (await calls.show(owner, id)).body.status).toBe('dispatched');
  const { executionId } = await calls.claimed(id);
  await calls.submit(executionId, { success: true, result_data: '[]' });
}

describe.each(officialClients)('the official client ($version) over svc mcp', ({ connect }) => {
  /** The client starts `svc mcp`. */
  async function connected(answers?: Answers, url = api.url): Promise<OfficialClient> {
    const env = bridgeEnvironment(url, owner);
    const client = await connect({ command: process.execPath, args: [launcher, 'mcp'], cwd: folder.path, env }, answers);
    clients.push(client);
    return client;
  }

  it('finds the server and this machine in one, and every structure fits its schema (CL-47, MC-50, MC-I4)', async () => {
    const client = await connected();
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(12);
    expect(tools.slice(9).map(({ name }) => name)).toEqual(['svc_migrate_up', 'svc_migrate_down', 'svc_migrate_create']);
    expect((await client.listPrompts()).prompts).toHaveLength(6);
    expect((await client.listResources()).resources).toHaveLength(3);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(3);
    const { contents } = await client.readResource({ uri: 'svc://requests/pending' });
    expect(contents[0]).toMatchObject({ mimeType: 'application/json' });
    const { id } = await calls.run(owner, { detail: 'select a from b' }, { success: true, result_data: '[]' });
    const results = await Promise.all(
      [
        { name: 'svc_execute_query', arguments: { sql: 'select 1' } },
        { name: 'svc_migrate_status', arguments: {} },
        { name: 'svc_wait_request', arguments: { request_id: id } },
        { name: 'svc_list_pending', arguments: {} },
        { name: 'svc_who_can_approve', arguments: { request_id: id } },
        { name: 'svc_find_similar_requests', arguments: { sql: 'select a from b' } },
        { name: 'svc_explain_policy_failure', arguments: {} },
        { name: 'svc_preflight_sql', arguments: { sql: 'select 1', include_explain: false } },
        { name: 'svc_migrate_up', arguments: { environment: 'production' } },
        { name: 'svc_migrate_down', arguments: { environment: 'production', count: 2 } },
      ].map((call) => client.callTool(call)),
    );
    for (const result of results) {
      expect(result.isError, JSON.stringify(result.content)).toBe(false);
      expect(result.structuredContent).toBeTypeOf('object');
    }
    expect(results.at(-1)?.structuredContent).toMatchObject({ status: 'pending', reverted: null });
    expect((await client.callTool({ name: 'svc_inspect_schema', arguments: {} })).isError).toBe(true);
  });

  it('applies and reverts the files of this folder, and makes new ones (MC-50)', async () => {
    const client = await connected();
    const up = client.callTool({ name: 'svc_migrate_up', arguments: { environment: 'staging', count: 2 } });
    const id = await playAgent('migrate_up', { applied: ['1', '2'] });
    expect((await up).structuredContent).toEqual({ request_id: id, status: 'executed', applied: ['1', '2'] });
    expect(JSON.parse((await calls.show(owner, id)).body.detail)).toMatchObject({ versions: ['1', '2', '3'], max_count: 2 });
    const down = client.callTool({ name: 'svc_migrate_down', arguments: { environment: 'staging' } });
    await playAgent('migrate_down', { reverted: ['2'] });
    expect((await down).structuredContent).toMatchObject({ status: 'executed', reverted: ['2'] });

    const made = await client.callTool({ name: 'svc_migrate_create', arguments: { name: 'add_email' } });
    const { path, version } = made.structuredContent as { path: string; version: string };
    expect(path).toBe(join('migrations', `${version}_add_email.sql`));
    expect(existsSync(join(folder.path, path))).toBe(true);
    // It is empty: nothing is sent while it stands there, and prompts over other files work.
    const early = await client.callTool({ name: 'svc_migrate_up', arguments: { environment: 'staging' } });
    expect(early).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('config_error: nothing was sent') }],
    });
    await client.getPrompt({ name: 'review_migration', arguments: { version: '1' } });
    rmSync(join(folder.path, path));
    await expect(client.callTool({ name: 'svc_migrate_create', arguments: { name: 'Bad Name' } })).rejects.toThrow('must match');
    const refused = await client.callTool({ name: 'svc_migrate_up', arguments: { database: 'nowhere' } });
    expect(refused.isError).toBe(true);
  });

  it('gives prompts of the server and over the files here (MC-51)', async () => {
    const client = await connected();
    for (const name of ['review_migration', 'draft_rollback']) {
      const { messages } = await client.getPrompt({ name, arguments: { version: '2' } });
      expect(messages[1]?.content).toMatchObject({ type: 'resource', resource: { text: expect.stringContaining('table t2') } });
    }
    const drafted = await client.getPrompt({ name: 'draft_migration', arguments: { description: 'a column' } });
    expect(drafted.messages.length).toBeGreaterThan(0);
    await expect(client.getPrompt({ name: 'review_migration', arguments: { version: '9' } })).rejects.toThrow('no migration');
    await expect(client.getPrompt({ name: 'review_migration', arguments: {} })).rejects.toThrow('version is required');
  });

  it('gives no prompt over a file to which a link in a checkout leads (MC-51, HD-60)', async () => {
    const client = await connected();
    const secret = join(folder.path, 'secret.txt');
    const link = join(folder.path, 'migrations', '7_link.sql');
    writeFileSync(secret, 'aws_secret_access_key = 1');
    symlinkSync(secret, link);
    await expect(client.getPrompt({ name: 'review_migration', arguments: { version: '7' } })).rejects.toThrow(
      'the migration file is a link that leads out of its folder',
    );
    rmSync(link);
    rmSync(secret);
  });

  it('asks its user for the reason that a policy demands, for both sides (CL-48, MC-50)', async () => {
    const client = await connected({ action: 'accept', content: { reason: 'ticket 17' } });
    for (const call of [
      { name: 'svc_execute_query', arguments: { sql: 'select 1', environment: 'qa' } },
      { name: 'svc_migrate_up', arguments: { environment: 'qa' } },
    ]) {
      const { structuredContent } = await client.callTool(call);
      const { request_id: id } = structuredContent as { request_id: string };
      expect((await calls.show(owner, id)).body).toMatchObject({
        reason: 'ticket 17',
        metadata: { source: 'mcp', client: expect.stringMatching(/./) },
      });
    }
    const silent = await (await connected()).callTool({ name: 'svc_migrate_up', arguments: { environment: 'qa' } });
    expect(silent.isError).toBe(true);
    expect(JSON.stringify(silent.content)).toContain('reason');
  });

  it('tells how a wait goes on, and cancels it (CL-49)', async () => {
    const client = await connected();
    const id = await calls.created(owner);
    const heard: unknown[] = [];
    const wait = { name: 'svc_wait_request', arguments: { request_id: id } };
    const answer = client.callTool(wait, { onprogress: ({ message }) => heard.push(message) });
    await expect.poll(() => heard).toEqual(['the request is pending']);
    await calls.act(dba, id, 'approve');
    await ended(id, heard);
    expect((await answer).structuredContent).toMatchObject({ status: 'executed' });

    const stop = new AbortController();
    const pending = { ...wait, arguments: { request_id: await calls.created(owner) } };
    const outcome = expect(client.callTool(pending, { signal: stop.signal })).rejects.toThrow();
    await expect.poll(openCalls).toBe(1);
    stop.abort();
    await outcome;
    await expect.poll(openCalls).toBe(0);
    await client.ping();
  });

  it('is told all when the connection to the server breaks in the middle of a call (CL-48, CL-I8)', async () => {
    const proxy = await startTcpProxy(api.url);
    try {
      const client = await connected(undefined, proxy.url);
      const id = await calls.created(owner);
      const heard: unknown[] = [];
      const wait = { name: 'svc_wait_request', arguments: { request_id: id } };
      const answer = client.callTool(wait, { onprogress: ({ message }) => heard.push(message) });
      await expect.poll(() => heard).toEqual(['the request is pending']);
      proxy.cut();
      await calls.act(dba, id, 'approve');
      proxy.heal();
      await ended(id, heard);
      expect((await answer).structuredContent).toMatchObject({ status: 'executed' });
    } finally {
      await proxy.close();
    }
  });

  it('ends the session when the client closes (CL-49)', async () => {
    const sessions = () => calls.sql('select 1 from mcp_sessions').then(({ length }) => length);
    const before = await sessions();
    const client = await connected();
    expect(await sessions()).toBe(before + 1);
    await client.close();
    await expect.poll(sessions).toBe(before);
  });
});
