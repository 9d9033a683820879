import { runSelect } from './requests.js';
import { percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/** An auto-approved `SELECT 1`, one at a time, from submit until its result is in the caller's hand. */
export async function lifecycle({ alice, measure }: BenchSystem, { count = 1000, warmup = 300 }: BenchOptions) {
  for (let left = warmup; left > 0; left -= 1) await runSelect(alice);
  const durations: number[] = [];
  await measure(async () => {
    while (durations.length < count) durations.push(await timed(() => runSelect(alice)));
  });
  return { count, ms: percentiles(durations) };
}
