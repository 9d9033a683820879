import { sleep } from '../lib/sleep.js';
import type { Caller } from './caller.js';
import { expectStatus } from './caller.js';
import { footprintOf } from './footprint-of.js';
import { create } from './requests.js';
import { hundredths, percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const json = { accept: 'application/json' };
const streamed = { accept: 'application/json, text/event-stream' };
const target = { database: 'shop', environment: 'staging', sql: "update customers set city = 'Ghent' where id = 12" };
const waitSecs = 100;

/**
 * A preflight as a plain call, as a tool without a session, in one, and in one answered as a stream: in turns, one at a time. Then `sessions` sessions of
 * three users wait for requests, each with a stream of its own, for `seconds`: what that costs the server.
 */
export async function mcp(system: BenchSystem, { count = 300, warmup = 100, sessions = 270, seconds = 60 }: BenchOptions) {
  const { alice } = system;
  const session = await openSession(alice);
  const ways: Record<string, () => Promise<unknown>> = {
    plain: () => expectStatus(200, alice.call('POST', '/api/preflight', { ...target, include_explain: false })),
    tool: () => preflight(alice, json),
    tool_in_session: () => preflight(alice, { ...json, ...session }),
    tool_streamed: () => preflight(alice, { ...streamed, ...session }),
  };
  const durations = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
  await system.measure(async () => {
    for (let turn = -warmup; turn < count; turn += 1)
      for (const [name, ask] of Object.entries(ways)) {
        const took = await timed(ask);
        if (turn >= 0) durations.get(name)!.push(took);
      }
  });
  const ms = Object.fromEntries([...durations].map(([name, all]) => [name, percentiles(all)]));
  return { count, ms, ...(await waitingSessions(system, sessions, seconds)) };
}

async function openSession(caller: Caller): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
  const { status, headers, body } = await caller.call('POST', '/mcp', rpc(1, 'initialize', params), json);
  const id = headers['mcp-session-id'];
  if (status !== 200 || typeof id !== 'string') throw new Error(`no session: ${status} ${JSON.stringify(body)}`);
  const opened = { 'mcp-session-id': id };
  await expectStatus(202, caller.call('POST', '/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, opened));
  return opened;
}

const rpc = (id: number, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params });

const call = (caller: Caller, name: string, args: object, headers: Record<string, string>) =>
  expectStatus(200, caller.call('POST', '/mcp', rpc(nextId(), 'tools/call', { name, arguments: args }), headers));

let last = 1;
const nextId = () => {
  last += 1;
  return last;
};

async function preflight(caller: Caller, headers: Record<string, string>): Promise<void> {
  const answer = await call(caller, 'svc_preflight_sql', { ...target, include_explain: false }, headers);
  if (!JSON.stringify(answer).includes('requestable')) throw new Error(`no verdict: ${JSON.stringify(answer)}`);
}

async function waitingSessions({ alice, bob, admin, processes, measure }: BenchSystem, count: number, seconds: number) {
  const server = processes.find(({ name }) => name.includes('server'));
  if (server === undefined) throw new Error('no process is the server');
  const id = await create(alice, 'production');
  const before = footprintOf(server.pid);
  const waits: Promise<unknown>[] = [];
  for (let n = 0; n < count; n += 1) {
    const caller = [alice, bob, admin][n % 3]!;
    const session = await openSession(caller);
    const args = { request_id: id, timeout: waitSecs + seconds, include_result: false };
    const wait = call(caller, 'svc_wait_request', args, { ...streamed, ...session });
    // Awaited at the end, or not at all if a later session cannot be opened.
    wait.catch(() => {});
    waits.push(wait);
  }
  await sleep(5000);
  const started = footprintOf(server.pid);
  await measure(() => sleep(seconds * 1000));
  const rested = footprintOf(server.pid);
  await expectStatus(200, bob.call('POST', `/api/requests/${id}/reject`, {}));
  await Promise.all(waits);
  return {
    sessions: count,
    server_mib: { before: before.memoryMib, waiting: rested.memoryMib },
    server_cpu_seconds_per_minute: hundredths(((rested.cpuSeconds - started.cpuSeconds) * 60) / seconds),
  };
}
