import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type McpCalls, mcpCalls } from './mcp-calls.js';

let api: TestApi;
let owner: string;
let mcp: McpCalls;
beforeAll(async () => {
  api = await startTestApi({ toml: `${callsToml}\n[mcp]\nmax_sessions = 60\n` });
  owner = await api.createUser('owner', { roles: ['requester'] });
  mcp = mcpCalls(api, owner);
});
afterAll(() => api?.close());

const json = { 'content-type': 'application/json' };
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('POST /mcp checks in order', () => {
  it('the credential comes first, and an agent has no business here (MC-1)', async () => {
    expect((await api.call('POST', '/mcp', { raw: 'x' })).status).toBe(401);
    const answer = await api.call('POST', '/mcp', { token: api.tokens.agent, body: ping });
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.forbidden']);
  });

  it.each([
    ['http://localhost', 200],
    ['http://localhost:3000', 200],
    ['https://127.0.0.1:8', 200],
    ['http://[::1]:1', 200],
    ['http://evil.example', 403],
    ['http://localhost.evil.example', 403],
    ['http://localhost:3000.evil.example', 403],
    ['http://user@localhost', 403],
    ['null', 403],
    ['', 403],
  ])('the origin %s is %s (MC-3)', async (origin, status) => {
    const answer = await mcp.post(ping, { origin });
    expect(answer.status).toBe(status);
    const allowed = answer.headers.get('access-control-allow-origin');
    expect(allowed).toBe(status === 200 ? origin : null);
  });

  it('a preflight needs no token and allows no other page (MC-4)', async () => {
    const good = await api.call('OPTIONS', '/mcp', { headers: { origin: 'http://localhost:3000' } });
    expect(good.status).toBe(204);
    expect(good.headers.get('access-control-allow-methods')).toBe('POST, GET, DELETE, OPTIONS');
    expect(good.headers.get('access-control-expose-headers')).toBe('mcp-session-id, mcp-protocol-version');
    expect(good.headers.get('access-control-allow-credentials')).toBeNull();
    const bad = await api.call('OPTIONS', '/mcp', { headers: { origin: 'http://evil.example' } });
    expect([bad.status, bad.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });

  it.each([
    [{ 'content-type': 'text/plain' }, 415, 'validation.unsupported_media_type'],
    [{ ...json, accept: 'text/html' }, 406, 'validation.not_acceptable'],
    [{ ...json, accept: 'application/json;q=0' }, 406, 'validation.not_acceptable'],
    [{ ...json, 'mcp-session-id': 'x' }, 404, 'mcp_session.not_found'],
    [{ ...json, 'mcp-session-id': '11111111-1111-4111-8111-111111111111' }, 404, 'mcp_session.not_found'],
    [{ ...json, 'mcp-protocol-version': '1999-01-01' }, 400, 'validation.failed'],
  ])('%j is %s %s (MC-10)', async (headers, status, code) => {
    const answer = await api.call('POST', '/mcp', { token: owner, raw: 'no json', headers });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  it('more than 2 MiB is 413', async () => {
    const answer = await api.call('POST', '/mcp', { token: owner, raw: ' '.repeat(2 * 1024 * 1024 + 1), headers: json });
    expect([answer.status, answer.body.code]).toEqual([413, 'payload.too_large']);
  });

  it.each([
    ['no json', -32700],
    ['', -32700],
    [`${'['.repeat(2000)}`, -32700],
    ['"x"', -32600],
    ['null', -32600],
    ['[]', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":5}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"nothing"}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}', -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop_everything"}}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_execute_query"}}', -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_execute_query","arguments":{"sql":""}}}', -32602],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_execute_query","arguments":{"sql":"\\u0000"}}}',
      -32602,
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_wait_request","arguments":{"request_id":"x","timeout":-1}}}',
      -32602,
    ],
  ])('%s is the JSON-RPC error %s (MC-5, MC-13)', async (raw, code) => {
    const answer = await api.call('POST', '/mcp', { token: owner, raw, headers: json });
    expect(answer.status).toBe(200);
    expect(answer.body.error.code).toBe(code);
    expect(answer.body.error.data).toMatchObject({ code: expect.any(String) });
  });
});

describe('initialize (MC-2, MC-11)', () => {
  it('opens a session with the version that the client asks for, or the newest', async () => {
    for (const [asked, got] of [
      ['2024-11-05', '2024-11-05'],
      ['2099-01-01', '2025-06-18'],
    ]) {
      const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'n', version: '1' } };
      const answer = await mcp.request('initialize', params, { accept: 'text/event-stream' });
      expect(answer.body.result.protocolVersion).toBe(got);
      expect(answer.headers.get('mcp-protocol-version')).toBe(got);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  it.each([
    { protocolVersion: 5, capabilities: {}, clientInfo: { name: 'n', version: '1' } },
    { protocolVersion: '2025-06-18', clientInfo: { name: 'n', version: '1' } },
    { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 5, version: '1' } },
  ])('%j opens none', async (params) => {
    const answer = await mcp.request('initialize', params);
    expect([answer.body.error.code, answer.headers.get('mcp-session-id')]).toEqual([-32602, null]);
  });

  it('a call with another version than its session is 400', async () => {
    const session = await mcp.open();
    expect((await mcp.post(ping, session)).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect((await mcp.post(ping, { ...session, 'mcp-protocol-version': '2025-03-26' })).status).toBe(400);
  });

  it('one subject cannot take all sessions, and the limit holds for all (MC-21)', async () => {
    const crowd = mcpCalls(api, await api.createUser('crowd', { roles: ['requester'] }));
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'n', version: '1' } };
    const answers = await Promise.all(Array.from({ length: 14 }, () => crowd.request('initialize', params)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    const refused = answers.find(({ status }) => status === 503);
    expect([refused?.body.code, refused?.headers.get('retry-after')]).toEqual(['service.unavailable', '1']);
    expect((await mcp.request('initialize', params)).status).toBe(200);
  });
});

describe('sessions (MC-20, MC-21)', () => {
  it('belong to their subject, end by DELETE, and end with the subject', async () => {
    const guest = await api.createUser('guest', { roles: ['requester'] });
    const session = await mcpCalls(api, guest).open();
    expect((await mcp.post(ping, session)).body.code).toBe('auth.forbidden');
    expect((await api.call('DELETE', '/mcp', { token: owner, headers: session })).status).toBe(403);
    const gone = await api.call('DELETE', '/mcp', { token: guest, headers: session });
    expect([gone.status, gone.text]).toEqual([200, '']);
    expect((await api.call('DELETE', '/mcp', { token: guest, headers: session })).status).toBe(404);
    expect((await api.call('DELETE', '/mcp', { token: guest })).status).toBe(404);
    await mcpCalls(api, guest).open();
    const held = () => api.services.database.query(`select 1 from mcp_sessions where subject_id = 'guest'`);
    expect(await held()).toHaveLength(1);
    await api.call('POST', '/api/users/guest/suspend', { token: api.tokens.admin });
    expect(await held()).toHaveLength(0);
  });

  it('any server serves them (MC-I1)', async () => {
    const other = await api.another();
    const session = await mcp.open();
    expect((await mcpCalls(other, owner).post(ping, session)).status).toBe(200);
    expect((await other.call('DELETE', '/mcp', { token: owner, headers: session })).status).toBe(200);
    expect((await mcp.post(ping, session)).body.code).toBe('mcp_session.not_found');
    await other.close();
  });

  it('expire after their last use', async () => {
    const session = await mcp.open();
    await api.services.database.query(
      `update mcp_sessions set last_used_at = clock_timestamp() - interval '3601 s' where id = $1`,
      [session['mcp-session-id']],
    );
    expect((await mcp.post(ping, session)).status).toBe(404);
  });
});

describe('batches', () => {
  const two = [ping, { ...ping, id: '1', method: 'nothing' }];

  it('are answered in order without a session (MC-12), and in sessions of the older versions', async () => {
    const old = await mcp.open({ protocolVersion: '2025-03-26' });
    for (const headers of [{}, old]) {
      const { body } = await mcp.post([...two, { jsonrpc: '2.0', method: 'notifications/x' }, 5], headers);
      expect(body.map(({ id, error }: { id?: unknown; error?: { code: number } }) => [id, error?.code])).toEqual([
        [1, undefined],
        ['1', -32601],
        [undefined, -32600],
      ]);
    }
    expect((await mcp.post([{ jsonrpc: '2.0', method: 'notifications/x' }])).status).toBe(202);
  });

  it('have at most 20 messages and no initialize, and do not exist in 2025-06-18', async () => {
    expect((await mcp.post(Array(21).fill(ping))).body.error.code).toBe(-32600);
    expect((await mcp.post([{ ...ping, method: 'initialize' }])).body[0].error.code).toBe(-32600);
    expect((await mcp.post(two, await mcp.open())).body.error.code).toBe(-32600);
  });
});

it('says of a response: 400 without a session, and 400 where no question is open', async () => {
  const response = { jsonrpc: '2.0', id: 'elicit-0', result: { action: 'cancel' } };
  expect((await mcp.post(response)).status).toBe(400);
  expect((await mcp.post(response, await mcp.open())).status).toBe(400);
});

it('mcp.enabled = false: every method is 404 after authentication (MC-1)', async () => {
  const off = await startTestApi({ toml: `${callsToml}\n[mcp]\nenabled = false\n` });
  try {
    for (const method of ['POST', 'GET', 'DELETE'])
      expect((await off.call(method, '/mcp', { token: off.tokens.admin })).body.code).toBe('mcp.not_found');
    expect((await off.call('POST', '/mcp')).status).toBe(401);
    expect((await off.call('OPTIONS', '/mcp')).body.code).toBe('mcp.not_found');
  } finally {
    await off.close();
  }
});

it('GET without a session or an event is 405 with the methods that are allowed, and Accept comes before (section 2, HT-26)', async () => {
  const get = (headers: Record<string, string>) => api.call('GET', '/mcp', { token: owner, headers });
  expect((await get({ accept: 'application/json' })).status).toBe(406);
  const session = await mcp.open();
  for (const partial of [{}, session, { 'last-event-id': `${randomUUID()}:0` }]) {
    const refused = await get({ accept: 'text/event-stream', ...partial });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, DELETE, OPTIONS']);
  }
  expect((await get({ accept: 'text/event-stream', ...session, 'last-event-id': 'x:1' })).status).toBe(400);
  const unknown = await get({ accept: 'text/event-stream', ...session, 'last-event-id': `${randomUUID()}:0` });
  expect([unknown.status, unknown.body.code, unknown.headers.get('allow')]).toEqual([404, 'mcp_stream.not_found', null]);
});
