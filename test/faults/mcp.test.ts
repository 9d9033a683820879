import { afterAll, beforeAll, expect, it } from 'vitest';
import { mcpCalls } from '../api/mcp-calls.js';
import type { TestApi } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';

let stored: TestDatabase;
let system: System;
beforeAll(async () => {
  stored = await createTestDatabase();
  system = await startSystem({ databaseUrl: stored.url, temporalAddress: await temporalAddress(), servers: 2, workers: 1 });
}, 240_000);
afterAll(async () => {
  await system?.close();
  await stored?.drop();
});

const clientOf = (server: number) => {
  const { url } = system.servers[server]!;
  const call: TestApi['call'] = async (method, path, { token, body, headers } = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) };
  };
  return mcpCalls({ url, call }, system.tokens.alice);
};

it('a server killed during a stream leaves it with exactly one response, told by the other server (MC-I3)', async () => {
  const [first, second] = [clientOf(0), clientOf(1)];
  const session = await first.open();
  const made = await second.tool('svc_execute_query', { sql: 'select 1', environment: 'production' }, session);
  const { request_id: id, status } = made.structuredContent;
  expect(status).toBe('pending');
  const params = { name: 'svc_wait_request', arguments: { request_id: id, timeout: 120 } };
  const stream = await first.stream({ id: 'w', method: 'tools/call', params }, session);
  const opening = await stream.next();
  await system.servers[0]!.kill();
  await stream.rest().catch(() => []);

  const resumed = await Promise.all([second.resume(opening!.id, session), second.resume(opening!.id, session)]);
  for (const one of resumed) {
    const events = await one.rest();
    expect(events.map(({ data }) => [data.id, data.error?.message])).toEqual([
      ['w', 'interrupted; check the request before calling again'],
    ]);
  }
  // The id is free again, and the request lives on.
  const again = await second.post({ jsonrpc: '2.0', id: 'w', method: 'ping' }, session);
  expect(again.body.result).toEqual({});
  const now = await second.tool('svc_wait_request', { request_id: id, timeout: 0 }, session);
  expect(now.structuredContent.status).toBe('pending');
}, 120_000);
