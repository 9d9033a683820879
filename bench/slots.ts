import { sleep } from '../lib/sleep.js';
import { create, runSelect } from './requests.js';
import { hundredths, percentiles } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const creators = 8;

/**
 * Runs `count` reads that wait when the agent starts, with 1, 8 and 32 slots. Measures how many end per second, and how long each
 * takes from claim to result.
 */
export async function slots(system: BenchSystem, { count = 1000, warmup = 300 }: BenchOptions) {
  const measured: Record<string, object> = {};
  for (const size of [1, 8, 32]) measured[`slots_${size}`] = await runWith(size, system, { count, warmup });
  return { count, ...measured };
}

async function runWith(size: number, system: BenchSystem, { count, warmup }: { count: number; warmup: number }) {
  const { alice, startAgent, measure } = system;
  const agent = await startAgent(`max_concurrent_tasks = ${size}`);
  try {
    for (let left = warmup; left > 0; left -= 1) await runSelect(alice);
    // It is warm then, and takes no part in the creation of the requests.
    process.kill(agent.pid, 'SIGSTOP');
    const ids: string[] = [];
    const fill = async () => {
      while (ids.length < count) ids.push(await create(alice, 'staging'));
    };
    await Promise.all(Array.from({ length: creators }, fill));
    return await measure(async () => {
      process.kill(agent.pid, 'SIGCONT');
      return await claimToResult(system, ids);
    });
  } finally {
    process.kill(agent.pid, 'SIGCONT');
    await agent.stop();
  }
}

async function claimToResult({ database }: BenchSystem, ids: readonly string[]) {
  for (;;) {
    const sql = `select extract(epoch from created_at) * 1000 as claimed, extract(epoch from finished_at) * 1000 as finished
                 from executions where request_id = any($1) and finished_at is not null`;
    const { rows } = await database.query<{ claimed: string; finished: string }>(sql, [ids]);
    if (rows.length < ids.length) {
      await sleep(200);
      continue;
    }
    const claimed = rows.map((row) => Number(row.claimed));
    const finished = rows.map((row) => Number(row.finished));
    const seconds = (Math.max(...finished) - Math.min(...claimed)) / 1000;
    return {
      jobs_per_second: hundredths(ids.length / seconds),
      claim_to_result_ms: percentiles(finished.map((at, index) => at - claimed[index]!)),
    };
  }
}
