import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { type McpCalls, mcpCalls } from './mcp-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let mcp: McpCalls;
beforeAll(async () => {
  api = await startTestApi({ toml: `trusted_proxies = []\n${callsToml}\n[rate_limits]\nper_token = 400\n` });
  calls = gatewayCalls(api);
  owner = await api.createUser('owner', { roles: ['requester'] });
  mcp = mcpCalls(api, owner);
});
afterAll(() => api?.close());

describe('hostile input', () => {
  const names = fc.constantFrom(
    'initialize',
    'ping',
    'tools/list',
    'tools/call',
    'resources/read',
    'prompts/get',
    '__proto__',
    'notifications/cancelled',
  );
  const tool = fc.constantFrom(
    'svc_wait_request',
    'svc_preflight_sql',
    'svc_who_can_approve',
    'svc_explain_policy_failure',
    'toString',
    '',
  );
  const args = fc.dictionary(
    fc.constantFrom('request_id', 'sql', 'database', 'environment', 'timeout', 'uri', 'limit', '__proto__'),
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(0, -1, 1.5, null, true, 1e308),
      fc.array(fc.integer(), { maxLength: 2 }),
    ),
  );
  const message = fc.record(
    {
      jsonrpc: fc.constantFrom('2.0', '1.0', 2),
      id: fc.oneof(fc.integer(), fc.string({ unit: 'binary', maxLength: 5 }), fc.constantFrom(null, {}, 1.5, 'x'.repeat(2000))),
      method: fc.oneof(names, fc.string()),
      params: fc.oneof(
        fc.record({ name: tool, arguments: args, uri: fc.string() }, { requiredKeys: [] }),
        fc.constantFrom([], 'x', null),
      ),
      result: fc.anything(),
      error: fc.anything(),
    },
    { requiredKeys: [] },
  );

  it('never answers 5xx, and makes no request (MC-I7)', async () => {
    const made = async () => (await calls.sql<{ n: number }>('select count(*) as n from requests'))[0]!.n;
    const before = await made();
    const admin = mcpCalls(api, api.tokens.admin);
    await fc.assert(
      fc.asyncProperty(fc.oneof(message, fc.array(message, { maxLength: 3 }), fc.anything()), async (body) => {
        const raw = JSON.stringify(body, (_key, value) => (typeof value === 'bigint' ? String(value) : value)) ?? '';
        const { status, text } = await api.call('POST', '/mcp', {
          token: api.tokens.admin,
          raw,
          headers: { 'content-type': 'application/json' },
        });
        expect(status, text).toBeLessThan(500);
        expect(text).not.toContain('internal server error');
      }),
      { numRuns: 120 },
    );
    expect(await made()).toBe(before);
    expect((await admin.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).body.result).toEqual({});
  }, 60_000);

  it('an id that is no JSON number, or that would be answered as another one, is no id', async () => {
    const headers = { 'content-type': 'application/json' };
    const ping = (id: string) =>
      api.call('POST', '/mcp', { token: owner, raw: `{"jsonrpc":"2.0","id":${id},"method":"ping"}`, headers });
    for (const id of ['1e999', '9007199254740993', '-12345678901234567890'])
      expect([id, (await ping(id)).body]).toMatchObject([id, { error: { code: -32600 } }]);
    for (const id of ['9007199254740991', '-1', '0.5']) expect((await ping(id)).text).toContain(`"id":${id},"result"`);
  });

  it('an id has at most 1000 bytes as JSON text, whatever its characters (MC-5, MC-I7)', async () => {
    // Of three bytes each and without a pattern, so that PostgreSQL cannot make its index entry smaller.
    const long = (n: number) =>
      Array.from({ length: n }, (_, i) => String.fromCharCode(0x4e00 + ((i * i * 7919) % 20_011))).join('');
    const session = await mcp.open();
    for (const headers of [session, { ...session, accept: 'text/event-stream' }, {}])
      for (const length of [990, 333]) {
        const { status, body } = await mcp.post({ jsonrpc: '2.0', id: long(length), method: 'ping' }, headers);
        expect([status, body.error]).toMatchObject([200, { code: -32600, message: 'id is too long' }]);
      }
    expect((await mcp.post({ jsonrpc: '2.0', id: long(332), method: 'ping' }, session)).body.id).toBe(long(332));
  });

  it('a batch is no way around the rate limit', async () => {
    const frequent = mcpCalls(api, await api.createUser('frequent', { roles: ['requester'] }));
    const ping = (_: unknown, id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
    const codes: string[] = [];
    for (let round = 0; round < 25 && codes.length === 0; round += 1) {
      const { status, body } = await frequent.post(Array.from({ length: 20 }, ping));
      if (status === 429) codes.push('rate.limited');
      else codes.push(...body.flatMap(({ error }: { error?: { data: { code: string } } }) => error?.data.code ?? []));
    }
    expect(codes[0]).toBe('rate.limited');
  });

  it('texts of others arrive as text, never as another event or message', async () => {
    const text = 'x\n\nid: 1\ndata: {"jsonrpc":"2.0"}\n\n\u2028';
    const session = await mcp.open();
    const id = await calls.created(owner, { detail: 'select 1', reason: text });
    const stream = await mcp.stream({ id: text, method: 'resources/read', params: { uri: `svc://requests/${id}` } }, session);
    const events = await stream.rest();
    expect(events).toHaveLength(2);
    expect(events[1]?.data.id).toBe(text);
    expect(JSON.parse(events[1]?.data.result.contents[0].text).reason).toBe(text);
  });

  it('a token that is revoked ends what it waits for', async () => {
    const leaving = await api.createUser('leaving', { roles: ['requester'] });
    const waiting = mcpCalls(api, leaving);
    const session = await waiting.open();
    const id = await calls.created(leaving);
    const params = { name: 'svc_wait_request', arguments: { request_id: id, timeout: 30, include_result: false } };
    const stream = await waiting.stream({ id: 1, method: 'tools/call', params }, session);
    await stream.next();
    await api.call('POST', '/api/users/leaving/suspend', { token: api.tokens.admin });
    expect(await stream.rest().catch(() => [])).toEqual([]);
    expect((await calls.show(api.tokens.admin, id)).body.status).toBe('cancelled');
  });
});
