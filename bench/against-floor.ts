import { untilNoBacklog } from './backlog.js';
import { answeredWithin } from './closed-loop.js';
import { startFloor } from './floor.js';
import { lifecycle } from './lifecycle.js';
import { hundredths } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/**
 * The same reads through the floor and then through the gateway: one at a time, then by `callers` at once. The floor is the least
 * server and agent that take the gateway's durable steps, so the ratio shows what the rest costs, on a machine of any speed.
 */
export async function againstFloor(system: BenchSystem, options: BenchOptions) {
  await untilNoBacklog(system);
  const floor = await measureFloor(system, options);
  const ours = await measure(system, options);
  return { ratio_of_p50: hundredths(ours.ms.p50 / floor.ms.p50), floor, ours };
}

/** The gateway waits meanwhile, with nothing to do. A profile shows the gateway, so the floor is not profiled. */
async function measureFloor(system: BenchSystem, options: BenchOptions) {
  const { caller, processes, stop } = await startFloor(system.postgres, system.logFolder);
  try {
    return await measure({ ...system, alice: caller, processes, measure: (work) => work() }, options);
  } finally {
    await stop();
  }
}

async function measure(system: BenchSystem, options: BenchOptions) {
  const { callers = 8, seconds = 20 } = options;
  const { ms, cpu_ms_per_request } = await lifecycle(system, options);
  // Nobody takes the floor's news, so this is the gateway's backlog in both cases.
  await untilNoBacklog(system);
  const durations = await answeredWithin(seconds, callers, system.alice);
  return { ms, cpu_ms_per_request, callers, answered_per_second: hundredths(durations.length / seconds) };
}
