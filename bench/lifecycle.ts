import { sleep } from '../lib/sleep.js';
import { storeEnded } from './copied-requests.js';
import { footprintOf } from './footprint-of.js';
import { runSelect } from './requests.js';
import { hundredths, percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/**
 * An auto-approved `SELECT 1`, one at a time with `pause` ms between, from submit until the caller has its result; also the CPU
 * time of each process. `stored` requests are there before.
 */
export async function lifecycle(system: BenchSystem, { count = 1000, warmup = 1000, pause = 0, stored = 0 }: BenchOptions) {
  await storeEnded(system, stored);
  const { alice, measure, processes } = system;
  for (let left = warmup; left > 0; left -= 1) await runSelect(alice);
  const durations: number[] = [];
  const cpuSeconds = () => processes.map(({ pid }) => footprintOf(pid).cpuSeconds);
  const before = cpuSeconds();
  await measure(async () => {
    while (durations.length < count) {
      durations.push(await timed(() => runSelect(alice)));
      if (pause > 0) await sleep(pause);
    }
  });
  const after = cpuSeconds();
  const cpu = processes.map(({ name }, index) => [name, hundredths(((after[index]! - before[index]!) * 1000) / count)]);
  return { count, pause, stored, ms: percentiles(durations), cpu_ms_per_request: Object.fromEntries(cpu) };
}
