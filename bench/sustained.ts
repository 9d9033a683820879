import { Connection } from '@temporalio/client';
import { sleep } from '../lib/sleep.js';
import { evenly } from './arrivals.js';
import { countBacklog, untilNoBacklog } from './backlog.js';
import { type NamedProcess, usageDuring, watchedProcesses } from './footprint-of.js';
import { runSelect } from './requests.js';
import { hundredths, percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const lookMs = 1000;
/** Of all arrivals of a part; a backlog that grows by less than this counts as flat. */
const flatShare = 0.01;

/**
 * `rate` reads a second for `seconds`, whether or not those before are answered, up to `open` at once. Tells latencies and backlogs of each part of `part`
 * seconds, and CPU and memory of each process; `temporal_pid` is one that runs Temporal elsewhere (bench/temporal-postgres.ts).
 */
export async function sustained(
  system: BenchSystem,
  { seconds = 600, rate = 50, part = 60, warmup = 300, open = 1000, temporal_pid = 0 }: BenchOptions,
) {
  for (let left = warmup; left > 0; left -= 1) await runSelect(system.alice);
  await untilNoBacklog(system);
  const parts = Array.from({ length: Math.ceil(seconds / part) }, (): Part => ({ durations: [], looks: [] }));
  const startedAt = performance.now();
  const current = () => parts[Math.min(parts.length - 1, Math.floor((performance.now() - startedAt) / (part * 1000)))]!;
  const read = async () => {
    const { durations } = current();
    durations.push(await timed(() => runSelect(system.alice)));
  };
  const processes: NamedProcess[] = watchedProcesses(system.processes, temporal_pid);
  const { result: arrivals, usage } = await usageDuring(processes, () =>
    watching(system, current, () => system.measure(() => evenly({ rate, seconds, maxOpen: open }, read))),
  );
  const tookSeconds = (performance.now() - startedAt) / 1000;
  const backlog = await countBacklog(system);
  const drainMs = await untilNoBacklog(system);
  const durations = parts.flatMap((one) => one.durations);
  return {
    seconds,
    rate,
    ...arrivals,
    answered_per_second: hundredths(durations.length / tookSeconds),
    ms: percentiles(durations),
    parts: parts.map(told),
    ...growth(parts, rate * part),
    backlog_at_end: backlog,
    backlog_gone_after_seconds: hundredths(drainMs / 1000),
    processes: usage,
  };
}

interface Part {
  /** Of the reads that began in it. */
  durations: number[];
  looks: Look[];
}

/** What waits: requests with news for Temporal, requests that no agent has taken, tasks that no worker has taken. */
interface Look {
  news: number;
  dispatched: number;
  tasks: number;
}

async function watching<T>(system: BenchSystem, current: () => Part, work: () => Promise<T>): Promise<T> {
  const temporal = await Connection.connect({ address: system.temporalAddress });
  let isOver = false;
  const watch = async () => {
    while (!isOver) {
      const { looks } = current();
      looks.push(await look(system, temporal));
      await sleep(lookMs);
    }
  };
  const watched = watch();
  watched.catch(() => {});
  try {
    return await work();
  } finally {
    isOver = true;
    await watched;
    await temporal.close();
  }
}

async function look(system: BenchSystem, temporal: Connection): Promise<Look> {
  const { rows } = await system.database.query(`select count(*)::int as count from requests where status = 'dispatched'`);
  // Workflow tasks and activities.
  const tasks = await Promise.all([1, 2].map((taskQueueType) => waitingTasks(temporal, taskQueueType)));
  return { news: await countBacklog(system), dispatched: rows[0].count, tasks: tasks[0]! + tasks[1]! };
}

/** The names are the defaults of `[temporal]`. */
async function waitingTasks(temporal: Connection, taskQueueType: number): Promise<number> {
  const asked = { namespace: 'default', taskQueue: { name: 'svc' }, taskQueueType, reportStats: true };
  const { stats } = await temporal.workflowService.describeTaskQueue(asked);
  return Number(stats?.approximateBacklogCount ?? 0);
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

const meanOf = ({ looks }: Part, name: keyof Look) => mean(looks.map((one) => one[name]));

const told = (one: Part) => ({
  ms: percentiles(one.durations),
  ...Object.fromEntries(
    (['news', 'dispatched', 'tasks'] as const).map((name) => [
      name,
      { mean: hundredths(meanOf(one, name)), max: Math.max(...one.looks.map((each) => each[name])) },
    ]),
  ),
});

/** How much more news waits per part than in the part before, over all parts. */
function growth(parts: readonly Part[], arrivalsOfPart: number) {
  const [first, last] = [parts[0]!, parts.at(-1)!];
  if (first === last) return { news_grows_per_part: null, is_flat: null };
  const grows = (meanOf(last, 'news') - meanOf(first, 'news')) / (parts.length - 1);
  return { news_grows_per_part: hundredths(grows), is_flat: grows < flatShare * arrivalsOfPart };
}
