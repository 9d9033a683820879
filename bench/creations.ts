import { countBacklog, untilNoBacklog } from './backlog.js';
import { create } from './requests.js';
import { hundredths, percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/** `callers` make requests that wait for approval, each the next one once the last is answered. `temporal.max_backlog` bounds how many. */
export async function creations(system: BenchSystem, { callers = 8, seconds = 15, warmup = 200 }: BenchOptions) {
  const { alice } = system;
  for (let left = warmup; left > 0; left -= 1) await create(alice, 'production');
  await untilNoBacklog(system);
  const durations: number[] = [];
  const until = performance.now() + seconds * 1000;
  const loop = async () => {
    while (performance.now() < until) durations.push(await timed(() => create(alice, 'production')));
  };
  await system.measure(async () => void (await Promise.all(Array.from({ length: callers }, loop))));
  return {
    callers,
    seconds,
    created_per_second: hundredths(durations.length / seconds),
    ms: percentiles(durations),
    backlog_at_end: await countBacklog(system),
  };
}
