import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mcpCalls } from '../api/mcp-calls.js';
import { officialClients } from '../api/official-clients.js';
import type { TestApi } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { type System, startSystem } from '../support/system.js';
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

/** One address for the servers. `to` breaks all connections and leads new ones to another server. */
async function startBalancer() {
  const open = new Set<Socket>();
  let target = system.servers[1]!.url;
  const front = createServer((client) => {
    const { hostname, port } = new URL(target);
    const back = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, back],
      [back, client],
    ] as const) {
      open.add(one);
      one.on('error', () => one.destroy()).on('close', () => other.destroy() && open.delete(one));
      one.pipe(other);
    }
  });
  await new Promise<void>((done) => front.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    to: (server: number) => {
      target = system.servers[server]!.url;
      for (const socket of open) socket.destroy();
    },
    close: () => {
      for (const socket of open) socket.destroy();
      front.close();
    },
  };
}

it('official clients behind one address work on two servers, and hear of one that was killed from the other (MC-I1, MC-I3)', async () => {
  await system.servers[0]!.start();
  const balancer = await startBalancer();
  const { alice, bob } = system.tokens;
  const clients = await Promise.all(officialClients.map((one) => one.connect({ url: `${balancer.url}/mcp`, token: alice })));
  balancer.to(0);
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
  balancer.to(1);
  for (const { client, interrupted } of waits) {
    await interrupted;
    await reconnected(client);
    expect((await client.listTools()).tools).toHaveLength(9);
    await client.close();
  }
  balancer.close();
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
