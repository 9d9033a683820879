import { sleep } from '../lib/sleep.js';
import { type Footprint, footprintOf } from './footprint-of.js';
import { runSelect } from './requests.js';
import { hundredths } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/**
 * Memory and CPU of each process: idle for a while, then during `count` requests by `callers` callers, until their backlog is
 * gone.
 */
export async function footprint(system: BenchSystem, { count = 2000, callers = 4, idle = 20, settle = 30 }: BenchOptions) {
  await runSelect(system.alice);
  await sleep(2000);
  const started = look(system);
  await sleep(idle * 1000);
  const rested = look(system);
  let left = count;
  const loop = async () => {
    while (left-- > 0) await runSelect(system.alice);
  };
  await system.measure(() => Promise.all(Array.from({ length: callers }, loop)));
  await sleep(settle * 1000);
  const worked = look(system);
  const rows = system.processes.map(({ name }, index) => [
    name,
    {
      idle_cpu_seconds_per_minute: hundredths(((rested[index]!.cpuSeconds - started[index]!.cpuSeconds) * 60) / idle),
      cpu_ms_per_request: hundredths(((worked[index]!.cpuSeconds - rested[index]!.cpuSeconds) * 1000) / count),
      idle_mib: rested[index]!.memoryMib,
      after_mib: worked[index]!.memoryMib,
    },
  ]);
  return { count, callers, processes: Object.fromEntries(rows) };
}

function look({ processes }: BenchSystem): Footprint[] {
  return processes.map(({ pid }) => footprintOf(pid));
}
