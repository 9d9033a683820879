import { sleep } from '../lib/sleep.js';
import { countBacklog, untilNoBacklog } from './backlog.js';
import { runSelect } from './requests.js';
import { hundredths } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const lookMs = 50;

/**
 * Runs reads while Temporal stands still. Then measures how soon after its return the first of their workflows is told, and how
 * many per second.
 */
export async function temporalOutage(system: BenchSystem, { count = 1500, callers = 8, warmup = 100 }: BenchOptions) {
  for (let left = warmup; left > 0; left -= 1) await runSelect(system.alice);
  await untilNoBacklog(system);
  const temporal = system.processes.find(({ name }) => name === 'Temporal')!;
  process.kill(temporal.pid, 'SIGSTOP');
  let left = count;
  const loop = async () => {
    while (left-- > 0) await runSelect(system.alice);
  };
  await Promise.all(Array.from({ length: callers }, loop));
  const backlog = await countBacklog(system);
  process.kill(temporal.pid, 'SIGCONT');
  const startedAt = performance.now();
  while ((await countBacklog(system)) >= backlog) await sleep(lookMs);
  const firstMs = performance.now() - startedAt;
  await untilNoBacklog(system);
  const tookMs = performance.now() - startedAt - firstMs;
  return {
    backlog,
    first_after_seconds: hundredths(firstMs / 1000),
    published_per_second: hundredths(backlog / (tookMs / 1000)),
  };
}
