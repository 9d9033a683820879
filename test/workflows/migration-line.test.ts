import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KnownView } from '../../workflows/messages.js';
import { claim, finish, storeRequest } from '../support/requests.js';
import { eventually, startTestWorker, type TestWorker, untilStored } from '../worker/support.js';

let worker: TestWorker;
/** What the workflow of a request was last told by a step. */
const known = new Map<string, KnownView>();
beforeAll(async () => {
  worker = await startTestWorker({
    wrapStep: (step) => async (id, clock) => {
      const view = await step(id, clock);
      known.set(id, view);
      return view;
    },
  });
  await eventually(async () => worker.worker.isWorking());
});
afterAll(() => worker?.stop());

const migration = (dispatchMs?: number) =>
  storeRequest(worker.database, {
    operation: 'migrate_up',
    dispatched: true,
    dispatchMs,
  });
describe('the workflow of a migration in line (AG-54, MI-50)', () => {
  it('waits without a clock behind a running one, and times out by what is left when that has ended', async () => {
    const first = await migration();
    // Longer than any test, so that only the result ends it.
    const executionId = await claim(worker.database, first, 600_000);
    const second = await migration(1500);
    const view = await eventually(async () => known.get(second));
    expect(view).toMatchObject({ status: 'dispatched', clock: null });
    await finish(worker.database, first, executionId);
    await untilStored(worker, second, 'approved');
    const [late] = await worker.database.query<{ ms: number }>(
      `select (extract(epoch from s.updated_at - f.updated_at) * 1000)::bigint as ms from requests s, requests f where s.id = $1 and f.id = $2`,
      [second, first],
    );
    // All of its 1.5 s were left.
    expect(late!.ms).toBeGreaterThanOrEqual(1490);
  });

  it('is claimed after the running one, and both workflows end', async () => {
    const first = await migration();
    const executionId = await claim(worker.database, first);
    const second = await migration();
    await expect(claim(worker.database, second)).rejects.toThrow('another migration is running');
    await finish(worker.database, first, executionId);
    await finish(worker.database, second, await claim(worker.database, second));
    await untilStored(worker, second, 'executed');
  });
});
