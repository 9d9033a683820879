import { footprintOf, forgetPeak, residentKib } from './footprint-of.js';
import { awaitResult, create } from './requests.js';
import { hundredths, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const rowBytes = 1040;

/**
 * Sends results of `mib` MiB, one after the other, through agent and server to `readers` callers. Measures how long each takes
 * and how much the peak memory of each process rises. With `relay=1` results are relayed instead of stored.
 */
export async function resultSize(
  system: BenchSystem,
  { mib = 10, count = 5, readers = 1, warmup = 50, relay = 0 }: BenchOptions,
) {
  const { alice, processes } = system;
  // A little below the limit, which counts bytes of the agent's JSON.
  const rows = Math.floor((mib * 1_048_576 * 0.98) / rowBytes);
  const detail = `select g as id, repeat('x', 1000) as text from generate_series(1, ${rows}) g`;
  for (let left = warmup; left > 0; left -= 1) await awaitResult(alice, await create(alice, 'staging'));
  const before = processes.map(({ pid }) => {
    forgetPeak(pid);
    return residentKib(pid, 'VmRSS');
  });
  const times: number[] = [];
  let bytes = 0;
  const once = async () => {
    const id = await create(alice, 'staging', detail, { no_result_store: relay === 1 });
    const answers = await Promise.all(Array.from({ length: readers }, () => awaitResult(alice, id)));
    bytes = JSON.stringify(answers[0].result_data).length;
    if (answers[0].result_data.rows.length !== rows)
      throw new Error(`${answers[0].result_data.rows.length} rows instead of ${rows}`);
  };
  await system.measure(async () => {
    while (times.length < count) times.push(await timed(once));
  });
  return {
    bytes,
    rows,
    count,
    readers,
    relay,
    ms: { first: hundredths(times[0] ?? Number.NaN), best: hundredths(Math.min(...times)) },
    processes: Object.fromEntries(processes.map(({ name, pid }, index) => [name, grownFrom(before[index]!, pid)])),
  };
}

const grownFrom = (beforeKib: number, pid: number) => ({
  before_mib: hundredths(beforeKib / 1024),
  peak_growth_mib: hundredths((residentKib(pid, 'VmHWM') - beforeKib) / 1024),
  after_mib: footprintOf(pid).memoryMib,
});
