import type { Database } from '../db/client.js';
import { findState } from '../db/request-state.js';
import type { StoredRequest } from '../domain/request/types.js';
import { sleep } from '../lib/sleep.js';
import { type Caller, expectStatus } from './caller.js';
import { awaitResult, create } from './requests.js';
import type { BenchSystem } from './system.js';

const lookMs = 100;
const waitMs = 60_000;

/** Requests that are made once and then copied (bench/copied-requests.ts). */
export const kinds = ['read', 'approved', 'failed', 'rejected', 'waiting'] as const;
export type Kind = (typeof kinds)[number];

/** One of alice's requests of each kind, stored once no work on it is left. */
export async function makeTemplates(system: BenchSystem, database: Database): Promise<Record<Kind, StoredRequest>> {
  const { alice, bob } = system;
  const act = (caller: Caller, id: string, what: string) =>
    expectStatus(200, caller.call('POST', `/api/requests/${id}/${what}`, {}));
  const ids: Record<Kind, string> = {
    read: await create(alice, 'staging'),
    failed: await create(alice, 'staging', 'SELECT 1 / 0'),
    approved: await create(alice, 'production'),
    rejected: await create(alice, 'production'),
    waiting: await create(alice, 'production'),
  };
  await awaitResult(alice, ids.read);
  await expectStatus(200, alice.call('GET', `/api/requests/${ids.failed}/result/stream`));
  await untilPlanned(system);
  await act(bob, ids.approved, 'approve');
  await act(alice, ids.approved, 'resume');
  await awaitResult(alice, ids.approved);
  await act(bob, ids.rejected, 'reject');
  const found = await Promise.all(
    Object.entries(ids).map(async ([kind, id]) => [kind, (await findState(database, id))!.request] as const),
  );
  return Object.fromEntries(found) as Record<Kind, StoredRequest>;
}

/** Each copy would ask again for a plan that is not made yet. */
async function untilPlanned({ database }: BenchSystem): Promise<void> {
  const until = performance.now() + waitMs;
  for (;;) {
    const { rows } = await database.query(
      `select count(*)::int as count from dry_run_jobs where state in ('pending', 'claimed')`,
    );
    if (rows[0].count === 0) return;
    if (performance.now() > until) throw new Error(`${rows[0].count} plans were not made`);
    await sleep(lookMs);
  }
}
