import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callsToml } from '../api/calls-toml.js';
import { type GatewayCalls, gatewayCalls } from '../api/gateway-calls.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { migrationsFolder, type RawBridge, startBridge } from './run-mcp.js';
import { login, runSvc } from './run-svc.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let dba: string;
let proxy: TcpProxy;
const folder = migrationsFolder();
const bridges: RawBridge[] = [];
beforeAll(async () => {
  api = await startTestApi({ toml: callsToml });
  calls = gatewayCalls(api);
  owner = await api.createUser('owner', { roles: ['requester'] });
  dba = await api.createUser('dba', { groups: ['dba-team'] });
  proxy = await startTcpProxy(api.url);
});
afterEach(async () => {
  proxy.heal();
  bridges.splice(0).forEach(({ child }) => void child.kill('SIGKILL'));
  await calls.sql('delete from mcp_sessions');
});
afterAll(async () => {
  await proxy?.close();
  await api?.close();
  folder.remove();
});

async function opened(capabilities: object = {}): Promise<RawBridge> {
  const bridge = startBridge(proxy.url, owner, folder.path);
  bridges.push(bridge);
  await bridge.open(capabilities);
  return bridge;
}

const told = (bridge: RawBridge) => bridge.messages().filter(({ method }) => method === 'notifications/progress');

/** A call that waits for a request, once its wait has begun. */
async function waiting(bridge: RawBridge, id: number): Promise<string> {
  const requestId = await calls.created(owner);
  const args = { request_id: requestId, include_result: false };
  const params = { name: 'svc_wait_request', arguments: args, _meta: { progressToken: id } };
  bridge.send({ id, method: 'tools/call', params });
  await expect.poll(() => told(bridge)).toHaveLength(1);
  return requestId;
}

describe('svc mcp and a network that breaks', () => {
  it('goes on where a stream broke, and loses no message (CL-48, CL-I8)', async () => {
    const bridge = await opened();
    const requestId = await waiting(bridge, 1);
    proxy.cut();
    await calls.act(dba, requestId, 'approve');
    await eventually(() => bridge.log().includes('a stream broke'));
    proxy.heal();
    expect((await bridge.answer(1)).result.structuredContent).toMatchObject({ status: 'approved' });
    expect(told(bridge).map(({ params }) => params.message)).toEqual(['the request is pending', 'the request is approved']);
    // What the server stored is what the client got, to the byte (CL-I8).
    const stored = await calls.sql<{ message: string }>('select message from mcp_events');
    for (const { message } of stored) expect(bridge.lines()).toContain(message);
  });

  it('gives up after five tries, answers -32603, and works again later (CL-48, CL-49)', async () => {
    const bridge = await opened();
    await waiting(bridge, 1);
    proxy.cut();
    expect((await bridge.answer(1)).error).toMatchObject({ code: -32603, data: { code: 'network_error' } });
    expect(bridge.log().match(/a stream broke/g)).toHaveLength(5);
    bridge.send({ id: 2, method: 'ping' });
    expect((await bridge.answer(2)).error).toMatchObject({ code: -32603, data: { code: 'network_error' } });
    proxy.heal();
    bridge.send({ id: 3, method: 'ping' });
    expect((await bridge.answer(3)).result).toEqual({});
  });

  it('opens a lost session again as the client had opened it; calls in flight end and are not repeated (CL-48)', async () => {
    const bridge = await opened();
    await waiting(bridge, 1);
    await calls.sql('delete from mcp_sessions');
    bridge.send({ id: 2, method: 'tools/list' });
    expect((await bridge.answer(2)).error).toMatchObject({ code: -32603, data: { code: 'mcp_session.not_found' } });
    expect((await bridge.answer(1)).error.code).toBe(-32603);
    bridge.send({ id: 3, method: 'tools/list' });
    expect((await bridge.answer(3)).result.tools).toHaveLength(12);
    const sessions = await calls.sql<{ client_info: unknown }>('select * from mcp_sessions');
    expect(sessions).toHaveLength(1);
    expect(JSON.stringify(sessions)).toContain('raw');
    bridge.child.stdin.end();
    expect(await bridge.exited).toBe(0);
  });

  it('takes back a question that nobody waits for any more (CL-48)', async () => {
    const bridge = await opened({ elicitation: {} });
    const args = { sql: 'select 1', database: 'shop', environment: 'qa' };
    bridge.send({ id: 1, method: 'tools/call', params: { name: 'svc_execute_query', arguments: args } });
    await eventually(() => bridge.messages().some(({ method }) => method === 'elicitation/create'));
    await calls.sql('delete from mcp_sessions');
    bridge.send({ id: 2, method: 'tools/list' });
    expect((await bridge.answer(1)).error.code).toBe(-32603);
    await eventually(() =>
      bridge.messages().some(({ method, params }) => method === 'notifications/cancelled' && params.requestId === 'elicit-0'),
    );
    bridge.send({ id: 'elicit-0', result: { action: 'accept', content: { reason: 'too late' } } });
    await eventually(() => bridge.log().includes('a question that was not asked'));
  });
});

describe('svc mcp that cannot begin', () => {
  const run = (url: string, token: string, argv: string[] = []) =>
    runSvc(['mcp', ...argv], { environment: { ...login(url), SVC_TOKEN: token }, directory: folder.path, stdin: '' });

  it('ends with 1 and writes nothing to standard output (CL-49, MC-51)', async () => {
    const away = await run('http://127.0.0.1:9', owner);
    expect(away).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('(connection refused)') });
    const refused = await run(api.url, 'svc_00112233445566778899aabbccddeeff');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).not.toContain('svc_0011');
    const off = await startTestApi({ toml: `${callsToml}\n[mcp]\nenabled = false\n` });
    try {
      const user = await off.createUser('someone', { roles: ['requester'] });
      expect(await run(off.url, user)).toMatchObject({ code: 1, stdout: '' });
    } finally {
      await off.close();
    }
  });

  it('is no command for --json, and ends with 0 when there is no input', async () => {
    expect((await run(api.url, owner, ['--json'])).code).toBe(2);
    expect(await run(api.url, owner)).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });
});
