import { type Caller, expectStatus } from './caller.js';
import { hundredths, percentiles, timed } from './statistics.js';
import { storeRequests } from './stored-requests.js';
import type { BenchOptions, BenchSystem } from './system.js';

/**
 * Lists of 50: the first page and one at half depth, for an owner, an approver and an administrator; then lists of one status.
 */
export async function lists(system: BenchSystem, { stored = 10_000, count = 200, warmup = 20 }: BenchOptions) {
  // The stored requests have no workflows. The worker would make them during the measurement.
  const workers = system.processes.filter(({ name }) => name.includes('worker'));
  for (const { pid } of workers) process.kill(pid, 'SIGSTOP');
  try {
    await storeRequests(system.database, stored);
    const { alice: owner, bob: approver, admin } = system;
    const measured: Record<string, unknown> = {};
    for (const [name, caller] of Object.entries({ owner, approver, admin })) {
      measured[name] = await system.measure(() => pagesOf(caller, '', { count, warmup }));
    }
    const filters: Record<string, unknown> = {};
    for (const status of ['pending', 'failed', 'executed'])
      filters[status] = await pagesOf(admin, `&status=${status}`, { count: Math.min(count, 20), warmup: 3 });
    filters.pending_for_me = await pagesOf(approver, '&pending_for_me=true', { count: Math.min(count, 20), warmup: 3 });
    return { stored, count, ...measured, filters };
  } finally {
    for (const { pid } of workers) process.kill(pid, 'SIGCONT');
  }
}

async function pagesOf(caller: Caller, filter: string, { count, warmup }: { count: number; warmup: number }) {
  let total = 0;
  const look = (offset: number) =>
    timed(async () => {
      const page = await expectStatus(200, caller.call('GET', `/api/requests?limit=50&offset=${offset}${filter}`));
      total = page.total;
    });
  const first_call_ms = hundredths(await look(0));
  const many = async (offset: number) => {
    const durations: number[] = [];
    for (let done = -warmup; done < count; done += 1) {
      const ms = await look(offset);
      if (done >= 0) durations.push(ms);
    }
    return percentiles(durations);
  };
  return { total, first_call_ms, first_ms: await many(0), half_ms: await many(Math.floor(total / 2)) };
}
