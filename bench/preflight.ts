import { type Caller, expectStatus } from './caller.js';
import { percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const update = "update customers set city = 'Ghent' where id = 12";
/** What the demo's role for reading may plan. */
const select = 'select city from customers where id = 12';

/** `POST /api/preflight`, one call at a time: of an UPDATE without EXPLAIN, then of a SELECT with the plan of the agent. */
export async function preflight({ alice, measure }: BenchSystem, { count = 2000, warmup = 500, explain = 300 }: BenchOptions) {
  const run = (times: number, ask: () => Promise<unknown>) =>
    measure(async () => {
      const durations: number[] = [];
      while (durations.length < times) durations.push(await timed(ask));
      return percentiles(durations);
    });
  const without = () => expectStatus(200, ask(alice, update, false));
  for (let left = warmup; left > 0; left -= 1) await without();
  const withoutExplain = await run(count, without);
  for (let left = warmup / 10; left > 0; left -= 1) await planned(alice);
  return {
    count,
    without_explain_ms: withoutExplain,
    explain_count: explain,
    with_explain_ms: await run(explain, () => planned(alice)),
  };
}

const ask = (caller: Caller, sql: string, includeExplain: boolean) =>
  caller.call('POST', '/api/preflight', { database: 'shop', environment: 'staging', sql, include_explain: includeExplain });

async function planned(caller: Caller): Promise<void> {
  const { impact } = await expectStatus(200, ask(caller, select, true));
  if (impact.status !== 'completed') throw new Error(`no plan: ${impact.status}`);
}
