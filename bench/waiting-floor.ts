import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, waitUntilReady } from '../dev/child.js';
import { clone } from '../dev/layout.js';
import { freePort } from '../dev/ports.js';
import { sleep } from '../lib/sleep.js';
import { createCaller } from './caller.js';
import { answers } from './floor.js';
import { footprintOf } from './footprint-of.js';
import { hundredths } from './statistics.js';
import type { BenchOptions } from './system.js';

const waitMs = 10_000;

/**
 * What `waiting` costs a server that only waits and answers: as many calls a minute, by node:http alone and by koa. The rate decides and not the
 * number of callers: between two calls the caches of the processor forget the program.
 */
export async function waitingFloor({ callers = 300, seconds = 60 }: BenchOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    const nodeHttp = await costOf('node-http', folder, callers, seconds);
    const koa = await costOf('koa', folder, callers, seconds);
    return { callers, seconds, server_cpu_seconds_per_minute: { node_http: nodeHttp.cpu, koa: koa.cpu }, calls: koa.calls };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function costOf(kind: string, folder: string, callers: number, seconds: number) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = startChild({
    name: `the ${kind} server`,
    file: process.execPath,
    args: ['--import', 'tsx', join(clone, 'bench', 'waiting-floor-server.ts')],
    logFile: join(folder, `${kind}.log`),
    deathSignal: 'SIGKILL',
    environment: { ...process.env, FLOOR_KIND: kind, FLOOR_PORT: String(port), FLOOR_WAIT_MS: String(waitMs) },
    cwd: clone,
  });
  const caller = createCaller(url, 'none');
  const isOver = { value: false };
  let calls = 0;
  const waitAgain = async () => {
    // The first wait begins at random, so that the callers ask evenly.
    await sleep(Math.random() * waitMs);
    for (; !isOver.value; calls += 1) await caller.call('GET', '/');
  };
  try {
    await waitUntilReady(server, () => answers(url), AbortSignal.timeout(60_000));
    const waits = Array.from({ length: callers }, waitAgain);
    await sleep(2 * waitMs);
    const [before, callsBefore] = [footprintOf(server.pid).cpuSeconds, calls];
    await sleep(seconds * 1000);
    const measured = {
      cpu: hundredths(((footprintOf(server.pid).cpuSeconds - before) * 60) / seconds),
      calls: calls - callsBefore,
    };
    isOver.value = true;
    await Promise.all(waits);
    return measured;
  } finally {
    caller.close();
    await server.stop('SIGTERM', 5000);
  }
}
