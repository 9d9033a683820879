import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultTimes } from '../../api/routes.js';
import { topic } from '../../db/notifications.js';
import { sleep } from '../../lib/sleep.js';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import type { GatewayCalls } from './gateway-calls.js';
import { type McpCalls, type McpHeaders, mcpCalls } from './mcp-calls.js';

const events = 120;
const eventBytes = 1024 * 1024;
const stallMs = 1000;

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<'owner' | 'approver', string>;
let mcp: McpCalls;
beforeAll(async () => {
  ({ api, calls, tokens } = await startCalls(ownerAndApprover, ['shop/production', 'shop/staging'], {
    toml: `${callsToml}\n[mcp]\nreplay_buffer_size = 200\n`,
    times: { stallMs, commentMs: 100 },
  }));
  mcp = mcpCalls(api, tokens.owner);
});
afterAll(() => api?.close());

const waitFor = (request_id: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'svc_wait_request', arguments: { request_id, include_result: false } },
});

/** A client that asks for a stream and reads nothing of the answer. */
function deafClient(session: McpHeaders, message: object, accept?: string): Socket {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.pause();
  socket.write(post(session, message, accept));
  return socket;
}

function post(session: McpHeaders, message: object, accept = 'text/event-stream'): string {
  const body = JSON.stringify(message);
  const headers = {
    host: 'localhost',
    authorization: `Bearer ${tokens.owner}`,
    'content-type': 'application/json',
    accept,
    'content-length': String(body.length),
    ...session,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** How many parts of this server follow what happens in a session: one for each call, one for each connection that reads a stream. */
function followers(session: McpHeaders): () => number {
  const { notifications } = api.services;
  const { subscribe } = notifications;
  let count = 0;
  notifications.subscribe = (name, wake) => {
    const release = subscribe(name, wake);
    if (name !== topic.mcp(session['mcp-session-id'] ?? '')) return release;
    count += 1;
    return () => {
      count -= 1;
      release();
    };
  };
  return () => count;
}

describe('a stream (MC-22)', () => {
  it('says that it lives after a silence', async () => {
    const session = await mcp.open();
    const id = await calls.created(tokens.owner);
    const answer = await fetch(`${api.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokens.owner}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...session,
      },
      body: JSON.stringify(waitFor(id)),
    });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let said = '';
    while (!said.endsWith(':\n\n:\n\n')) said += (await reader.read()).value;
    expect(said).toMatch(/^id: [0-9a-f-]{36}:0\n\n(:\n\n)+$/);
    await calls.act(tokens.approver, id, 'reject');
    for (let part = await reader.read(); !part.done; part = await reader.read()) said += part.value;
    expect(said).toMatch(/^id: \S+:0\n\n(:\n\n)+id: \S+:1\ndata: \{"jsonrpc".*\}\n\n$/);
  });

  it('to a client that never reads holds little, keeps nobody waiting, and is cut off; the client can come back', async () => {
    const session = await mcp.open();
    const following = followers(session);
    const id = await calls.created(tokens.owner);
    const deaf = deafClient(session, waitFor(id));
    await expect.poll(following).toBe(2);
    const [call] = await calls.sql<{ id: string }>('select id from mcp_calls where session_id = $1', [session['mcp-session-id']]);
    const before = process.memoryUsage.rss();
    await calls.sql(
      `with said as (insert into mcp_events (call_id, seq, message)
         select $1, n, '{"x":"' || repeat('x', $3) || '"}' from generate_series(1, $2::int) as n)
       update mcp_calls set last_seq = $2 where id = $1`,
      [call!.id, events, eventBytes],
    );
    api.services.notifications.publish([topic.mcpStream(call!.id)]);
    const told = performance.now();
    const others = mcpCalls(api, tokens.approver);
    let served = 0;
    while (following() === 2 && performance.now() - told < 20_000) {
      expect((await others.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).body.result).toEqual({});
      served += 1;
    }
    expect(served).toBeGreaterThan(1);
    // Its connection is gone; the call itself goes on.
    expect(following()).toBe(1);
    expect(process.memoryUsage.rss() - before).toBeLessThan((events * eventBytes) / 2);
    let got = 0;
    deaf.on('data', (part) => {
      got += part.length;
    });
    deaf.resume();
    await new Promise((done) => deaf.once('close', done));
    expect(got).toBeLessThan((events * eventBytes) / 2);

    await calls.act(tokens.approver, id, 'reject');
    const rest = await (await mcp.resume(`${call!.id}:${events - 3}`, session)).rest();
    expect(rest.map((event) => Number(event.id.split(':')[1]))).toEqual([events - 2, events - 1, events, events + 1]);
    expect(rest.at(-1)?.data.result.structuredContent.status).toBe('rejected');
  });
});

it('an answer that is no stream is cut off too when nobody takes it', async () => {
  const result = JSON.stringify('x'.repeat(1024 * 1024 - 2));
  const { id } = await calls.run(tokens.owner, { detail: 'select x' }, { success: true, result_data: result });
  const wait = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'svc_wait_request', arguments: { request_id: id } } };
  const batch = Array.from({ length: 10 }, (_, n) => ({ ...wait, id: n }));
  const deaf = deafClient({}, batch, 'application/json');
  await new Promise((done) => deaf.once('readable', done));
  const head = String(deaf.read());
  const whole = Number(/content-length: (\d+)/i.exec(head)?.[1]);
  // Far more than the sockets' buffers hold, and as much as a batch is answered with (MC-14).
  expect(whole).toBeGreaterThan(8 * result.length);
  await sleep(3 * stallMs);
  let got = head.length;
  deaf.on('data', (part) => {
    got += part.length;
  });
  deaf.resume();
  await new Promise((done) => deaf.once('close', done));
  expect(got).toBeLessThan(whole);
  // A connection on which all was taken is used again.
  for (let n = 0; n < 2; n += 1) expect((await mcp.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(200);
});

it('an answer that waits is not cut off, also behind another on its connection', async () => {
  const id = await calls.created(tokens.owner);
  const wait = waitFor(id);
  const patient = { ...wait, params: { ...wait.params, arguments: { ...wait.params.arguments, timeout: 3 } } };
  const ping = { jsonrpc: '2.0', id: 0, method: 'ping' };
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  socket.write(post({}, ping, 'application/json') + post({}, patient, 'application/json'));
  let said = '';
  socket.setEncoding('utf8').on('data', (part) => {
    said += part;
  });
  await expect.poll(() => socket.destroyed || said.includes('timed_out')).toBe(true);
  expect(said.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  socket.destroy();
});

it('a server waits a minute for a reader, and is silent for 15 s at most (MC-22)', () => {
  expect(defaultTimes).toMatchObject({ stallMs: 60_000, commentMs: 15_000 });
});
