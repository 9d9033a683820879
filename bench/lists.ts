import type { Caller } from './caller.js';
import { timePages } from './paging.js';
import { letWait, storeRequests } from './stored-requests.js';
import type { BenchOptions, BenchSystem } from './system.js';
import { withoutWorker } from './without-worker.js';

/**
 * Lists of 50: the first page and one at half depth, for an owner, an approver and an administrator; then lists of one status.
 */
export async function lists(system: BenchSystem, { stored = 10_000, waiting = 0, count = 200, warmup = 20 }: BenchOptions) {
  // The stored requests have no workflows. The worker would make them during the measurement.
  return withoutWorker(system, async () => {
    await storeRequests(system.database, stored);
    if (waiting > 0) await letWait(system.database, waiting);
    const { alice: owner, bob: approver, admin } = system;
    const pagesOf = (caller: Caller, filter: string, times: { count: number; warmup: number }) =>
      timePages(caller, { path: '/api/requests', filter, ...times });
    const measured: Record<string, unknown> = {};
    for (const [name, caller] of Object.entries({ owner, approver, admin })) {
      measured[name] = await system.measure(() => pagesOf(caller, '', { count, warmup }));
    }
    const few = { count: Math.min(count, 20), warmup: 3 };
    const filters: Record<string, unknown> = {};
    for (const status of ['pending', 'failed', 'executed']) filters[status] = await pagesOf(admin, `status=${status}`, few);
    filters.pending_for_me = await pagesOf(approver, 'pending_for_me=true', few);
    return { stored, waiting, count, ...measured, filters };
  });
}
