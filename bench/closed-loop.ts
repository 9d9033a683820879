import { countBacklog, untilNoBacklog } from './backlog.js';
import type { Caller } from './caller.js';
import { storeEnded } from './copied-requests.js';
import { runSelect } from './requests.js';
import { hundredths, percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/**
 * Each caller submits the next `SELECT 1` once it has the result of the last one. Then measures the time until Temporal has all
 * news. `stored` requests are there before.
 */
export async function closedLoop(system: BenchSystem, { callers = 8, seconds = 60, warmup = 300, stored = 0 }: BenchOptions) {
  await storeEnded(system, stored);
  for (let left = warmup; left > 0; left -= 1) await runSelect(system.alice);
  await untilNoBacklog(system);
  const durations = await system.measure(() => answeredWithin(seconds, callers, system.alice));
  const backlog = await countBacklog(system);
  const drainMs = await untilNoBacklog(system);
  return {
    callers,
    seconds,
    stored,
    answered_per_second: hundredths(durations.length / seconds),
    ms: percentiles(durations),
    backlog_at_end: backlog,
    backlog_gone_after_seconds: hundredths(drainMs / 1000),
  };
}

/** How long each read took that one of `callers` loops began within `seconds`. */
export async function answeredWithin(seconds: number, callers: number, caller: Caller): Promise<number[]> {
  const durations: number[] = [];
  const until = performance.now() + seconds * 1000;
  const loop = async () => {
    while (performance.now() < until) durations.push(await timed(() => runSelect(caller)));
  };
  await Promise.all(Array.from({ length: callers }, loop));
  return durations;
}
