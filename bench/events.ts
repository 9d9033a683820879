import { Agent, type ClientRequest, request } from 'node:http';
import { sleep } from '../lib/sleep.js';
import { evenly } from './arrivals.js';
import type { Caller } from './caller.js';
import { footprintOf } from './footprint-of.js';
import { create } from './requests.js';
import { hundredths, percentiles } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/**
 * `rate` reads per second for `seconds`, first without event streams, then with `streams` of three users: CPU and memory of the server, and how long after
 * the answer to its creation a request is told.
 */
export async function events(system: BenchSystem, { streams = 500, rate = 50, seconds = 20 }: BenchOptions) {
  const { alice, bob, admin, processes } = system;
  const server = processes.find(({ name }) => name.includes('server'));
  if (server === undefined) throw new Error('no process is the server');
  const cpuOf = async (work: () => Promise<unknown>) => {
    const before = footprintOf(server.pid);
    await work();
    const after = footprintOf(server.pid);
    return { cpu_percent: hundredths(((after.cpuSeconds - before.cpuSeconds) * 100) / seconds), mib: after.memoryMib };
  };
  await load(alice, rate, 5);
  const without = await cpuOf(() => load(alice, rate, seconds));
  const told = new Map<string, number>();
  const open = Array.from({ length: streams }, (_, index) =>
    follow(system.serverUrl, [alice, bob, admin][index % 3]!, index === 0 ? told : null),
  );
  await sleep(3000);
  const created = new Map<string, number>();
  const withStreams = await cpuOf(() => system.measure(() => load(alice, rate, seconds, created)));
  await sleep(2000);
  for (const one of open) one.destroy();
  const delays = [...created].flatMap(([id, at]) => (told.has(id) ? [Math.max(0, told.get(id)! - at)] : []));
  return {
    streams,
    rate,
    seconds,
    without,
    with: withStreams,
    created: created.size,
    told: delays.length,
    told_after_ms: percentiles(delays),
  };
}

/** Evenly spaced reads whose results nobody waits for. */
async function load(alice: Caller, rate: number, seconds: number, created?: Map<string, number>): Promise<void> {
  const { failures } = await evenly({ rate, seconds }, async () => {
    const id = await create(alice, 'staging');
    created?.set(id, performance.now());
  });
  if (failures.length > 0) throw new Error(failures[0]);
}

const agent = new Agent({ keepAlive: false, maxSockets: 4096 });

/** Reads a stream; with `told`, remembers when each request was first told. Parsing every stream would keep this process busy. */
function follow(serverUrl: string, { headers }: Caller, told: Map<string, number> | null): ClientRequest {
  const call = request(`${serverUrl}/api/events`, { agent, headers }, (response) => {
    response.once('error', () => {});
    if (told === null) return void response.resume();
    response.setEncoding('utf8').on('data', (part: string) => {
      for (const [, id = ''] of part.matchAll(/"id":"([^"]+)"/g)) if (!told.has(id)) told.set(id, performance.now());
    });
  });
  call.once('error', () => {});
  call.end();
  return call;
}
