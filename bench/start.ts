import type { Child } from '../dev/child.js';
import { freePort } from '../dev/ports.js';
import { answersOk } from '../dev/wait-for.js';
import { sleep } from '../lib/sleep.js';
import { type Caller, createCaller } from './caller.js';
import { footprintOf } from './footprint-of.js';
import { create } from './requests.js';
import { hundredths, percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const lookMs = 5;
const startWaitMs = 60_000;

/**
 * A further server, and a further worker, on a system that runs: from its start until it answers and until it is ready, with the CPU and memory of that.
 * Then six creations at once at the server, as a proxy sends them to one that has just become ready.
 */
export async function start({ startBeside, alice }: BenchSystem, { count = 20, warmup = 2 }: BenchOptions) {
  const measured: Record<string, object> = {};
  const first: number[] = [];
  for (const name of ['server', 'worker'] as const) {
    const starts: Start[] = [];
    for (let done = -warmup; done < count; done += 1) {
      const listen = `127.0.0.1:${await freePort()}`;
      const startedAt = performance.now();
      const child = startBeside(name, listen);
      try {
        const one = await follow(child, `http://${listen}`, startedAt);
        const created = name === 'server' ? await createSix(alice, `http://${listen}`) : [];
        if (done < 0) continue;
        starts.push(one);
        first.push(...created);
      } finally {
        await child.stop('SIGKILL', 1000);
      }
    }
    measured[name] = summary(starts);
  }
  return { count, ...measured, first_creations_ms: percentiles(first) };
}

/** How long each of six at once takes. */
async function createSix({ headers }: Caller, url: string): Promise<number[]> {
  const caller = createCaller(url, headers.authorization!.replace('Bearer ', ''));
  try {
    return await Promise.all(Array.from({ length: 6 }, () => timed(() => create(caller, 'production'))));
  } finally {
    caller.close();
  }
}

interface Start {
  answersMs: number;
  readyMs: number;
  cpuSeconds: number;
  memoryMib: number;
}

async function follow(child: Child, url: string, startedAt: number): Promise<Start> {
  const since = async (path: string) => {
    while (!(await answersOk(`${url}${path}`))) {
      if (child.hasExited() || performance.now() - startedAt > startWaitMs)
        throw new Error(`${child.name}: see ${child.logFile}`);
      await sleep(lookMs);
    }
    return performance.now() - startedAt;
  };
  return { answersMs: await since('/health'), readyMs: await since('/ready'), ...footprintOf(child.pid) };
}

function summary(starts: readonly Start[]) {
  const mean = (pick: (one: Start) => number) => hundredths(starts.reduce((sum, one) => sum + pick(one), 0) / starts.length);
  return {
    answers_ms: percentiles(starts.map(({ answersMs }) => answersMs)),
    ready_ms: percentiles(starts.map(({ readyMs }) => readyMs)),
    cpu_ms: mean(({ cpuSeconds }) => cpuSeconds * 1000),
    mib: mean(({ memoryMib }) => memoryMib),
  };
}
