import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { mcpCalls } from '../api/mcp-calls.js';
import { officialClients } from '../api/official-clients.js';
import type { TestApi } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { type System, startSystem } from '../support/system.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { temporalAddress } from '../support/temporal.js';

let stored: TestDatabase;
let system: System;
beforeAll(async () => {
  stored = await createTestDatabase();
  system = await startSystem({
    databaseUrl: stored.url,
    temporalAddress: await temporalAddress(),
    servers: 2,
    workers: 1,
    withoutAgent: true,
  });
}, 240_000);
afterAll(async () => {
  await system?.close();
  await stored?.drop();
});

// Each test kills it.
afterEach(async () => {
  await system.servers[0]!.kill();
  await system.servers[0]!.start();
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

it('official clients behind one address work on two servers, and hear of one that was killed from the other (MC-I1, MC-I3)', async () => {
  const balancer = await startTcpProxy(system.servers[1]!.url);
  const { alice, bob } = system.tokens;
  const clients = await Promise.all(officialClients.map((one) => one.connect({ url: `${balancer.url}/mcp`, token: alice })));
  balancer.to(system.servers[0]!.url);
  const waits = [];
  for (const client of clients) {
    await reconnected(client);
    const made = await client.callTool({
      name: 'svc_execute_query',
      arguments: { sql: 'select 1', environment: 'production' },
    });
    const { request_id: id } = made.structuredContent as { request_id: string };
    const heard: unknown[] = [];
    const wait = { name: 'svc_wait_request', arguments: { request_id: id } };
    const answer = client.callTool(wait, { onprogress: ({ message }) => heard.push(message) });
    waits.push({ client, heard, interrupted: expect(answer).rejects.toThrow('interrupted; check the request') });
    await expect.poll(() => heard).toEqual(['the request is pending']);
    const approved = await fetch(`${system.servers[1]!.url}/api/requests/${id}/approve`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bob}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(approved.status).toBe(200);
    await expect.poll(() => heard.slice(0, 2)).toEqual(['the request is pending', 'the request is approved']);
  }
  await system.servers[0]!.kill();
  balancer.to(system.servers[1]!.url);
  for (const { client, interrupted } of waits) {
    await interrupted;
    await reconnected(client);
    expect((await client.listTools()).tools).toHaveLength(9);
    await client.close();
  }
  await balancer.close();
}, 240_000);

/** Waits until a call succeeds: one on a kept connection that the balancer has just broken fails. */
const reconnected = (client: { listTools(): Promise<unknown> }) =>
  expect
    .poll(() =>
      client.listTools().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
