import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callsToml } from '../api/calls-toml.js';
import { type GatewayCalls, gatewayCalls } from '../api/gateway-calls.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { migrationsFolder, type RawBridge, startBridge } from './run-mcp.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
const folder = migrationsFolder();
const bridges: RawBridge[] = [];
beforeAll(async () => {
  api = await startTestApi({ toml: callsToml });
  calls = gatewayCalls(api);
  owner = await api.createUser('owner', { roles: ['requester'] });
});
afterEach(async () => {
  for (const { child } of bridges.splice(0)) child.kill('SIGKILL');
  await calls.sql('delete from mcp_sessions');
});
afterAll(async () => {
  await api?.close();
  folder.remove();
});

function start(): RawBridge {
  const bridge = startBridge(api.url, owner, folder.path);
  bridges.push(bridge);
  return bridge;
}

const waitFor = (id: number | string, requestId: string) => ({
  id,
  method: 'tools/call',
  params: { name: 'svc_wait_request', arguments: { request_id: requestId, include_result: false } },
});

describe('svc mcp and hostile input', () => {
  it('answers what is no message, and goes on (CL-47, MC-5)', async () => {
    const bridge = start();
    await bridge.open();
    for (const line of ['{', 'no json', '', '   ', '{"a":"\u0000"}', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}'])
      bridge.send(line);
    bridge.send(Uint8Array.from([0x22, 0xff, 0xfe, 0x22]));
    bridge.send(`{"jsonrpc":"2.0","id":2,"method":"${'x'.repeat(3 * 1024 * 1024)}"}`);
    bridge.send('17');
    bridge.send('{"jsonrpc":"1.0","id":3,"method":"ping"}');
    bridge.send({ id: 4, method: 'no/such' });
    bridge.send({ id: 5, method: 'tools/call', params: { name: 'svc_preflight_sql', arguments: { sql: 'a\u0000b' } } });
    bridge.send({ id: 6, method: 'tools/call', params: { name: 'svc_migrate_up', arguments: { database: 'a\u0000' } } });
    bridge.send({ id: 7, method: 'tools/call', params: { name: 'svc_migrate_up', arguments: { count: 0 } } });
    bridge.send({ id: 8, method: 'tools/call', params: { name: 'svc_migrate_up', arguments: [] } });
    bridge.send('[{"jsonrpc":"2.0","id":9,"method":"ping"}]');
    bridge.send({ id: 'svc-elicit-0', result: { action: 'accept', content: { reason: 'not asked' } } });
    bridge.send({ id: 10, method: 'ping' });
    expect(await bridge.answer(10)).toEqual({ jsonrpc: '2.0', id: 10, result: {} });
    for (const id of [4, 5, 6, 7, 8]) expect((await bridge.answer(id)).error.code).toBe(id === 4 ? -32601 : -32602);
    await eventually(() => bridge.messages().filter(({ error }) => error?.code === -32600).length >= 3);
    expect(bridge.messages().filter(({ error }) => error?.code === -32700)).toHaveLength(6);
    expect(bridge.log()).toContain('a question that was not asked');
    expect(bridge.log()).not.toContain(owner);
  });

  it('refuses an id in use, tells 1 from "1", and takes batches where the version has them', async () => {
    const bridge = start();
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    bridge.send({ id: 'open', method: 'initialize', params });
    await bridge.answer('open');
    const pending = await calls.created(owner);
    bridge.send(waitFor(1, pending));
    bridge.send(waitFor(1, pending));
    expect((await bridge.answer(1)).error).toMatchObject({ code: -32603, data: { code: 'mcp.conflict' } });
    bridge.send({ id: '1', method: 'tools/list' });
    const { result } = await bridge.answer('1');
    expect(result.tools).toHaveLength(12);
    expect(result.tools.every((tool: object) => !('outputSchema' in tool))).toBe(true);
    bridge.send('[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]');
    await eventually(() => bridge.lines().includes('[{"jsonrpc":"2.0","id":2,"result":{}}]'));
    bridge.child.stdin.end();
    expect(await bridge.exited).toBe(0);
  });

  it('refuses more calls than it keeps, and keeps the others (CL-49)', async () => {
    const bridge = start();
    await bridge.open();
    const pending = await calls.created(owner);
    for (let id = 0; id < 40; id += 1) bridge.send(waitFor(id, pending));
    const refused = () => bridge.messages().filter(({ error }) => error?.data.code === 'rate.limited').length;
    await eventually(() => refused() === 30);
    bridge.child.stdin.end();
    expect(await bridge.exited).toBe(0);
  });

  it('gives no answer to a call of this machine that was cancelled (CL-49, MC-50)', async () => {
    const bridge = start();
    await bridge.open();
    const params = { name: 'svc_migrate_up', arguments: { environment: 'staging' } };
    bridge.send({ id: 1, method: 'tools/call', params });
    const made = () => calls.list(owner, '?operation=migrate_up').then(({ body }) => body.requests.length as number);
    await expect.poll(made).toBe(1);
    bridge.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
    bridge.send({ id: 2, method: 'ping' });
    await bridge.answer(2);
    bridge.child.stdin.end();
    expect(await bridge.exited).toBe(0);
    expect(bridge.messages().map(({ id }) => id)).toEqual(['open', 2]);
  });

  it('ends at the end of input, and answers what it can of what runs (CL-49)', async () => {
    const bridge = start();
    await bridge.open();
    bridge.send(waitFor(1, await calls.created(owner)));
    bridge.child.stdin.end('{"jsonrpc":"2.0","id":2,"method":"ping"}');
    expect(await bridge.exited).toBe(0);
    expect(await bridge.answer(2)).toMatchObject({ result: {} });
    expect((await bridge.answer(1)).error).toMatchObject({ code: -32603 });
    expect(await calls.sql('select 1 from mcp_sessions')).toHaveLength(0);
  });

  it('ends at an interrupt, with its session (CL-49)', async () => {
    const bridge = start();
    await bridge.open();
    bridge.send(waitFor(1, await calls.created(owner)));
    await expect
      .poll(() => calls.sql('select 1 from mcp_calls where ended_at is null and streams').then(({ length }) => length))
      .toBe(1);
    bridge.child.kill('SIGINT');
    expect(await bridge.exited).toBe(130);
    expect(await calls.sql('select 1 from mcp_sessions')).toHaveLength(0);
  });

  it('keeps little for a client that reads nothing, and can be ended (CL-47)', async () => {
    const bridge = start();
    await bridge.open();
    bridge.child.stdout.pause();
    let sent = 0;
    let isFull = false;
    while (!isFull && sent < 20_000) {
      sent += 1;
      const went = bridge.child.stdin.write(`{"jsonrpc":"2.0","id":${sent},"method":"tools/list"}\n`);
      if (!went)
        isFull = await Promise.race([
          new Promise<boolean>((done) => bridge.child.stdin.once('drain', () => done(false))),
          pause(),
        ]);
    }
    expect(isFull).toBe(true);
    const gone = new Promise((done) => bridge.child.once('exit', done));
    bridge.child.kill('SIGTERM');
    expect(await gone).toBe(130);
  });
});

const pause = () => new Promise<boolean>((done) => setTimeout(() => done(true), 3_000));
