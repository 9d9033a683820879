import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReconciler, type ReconcilerOptions } from '../../worker/reconciler.js';
import { requestWorkflowId } from '../../workflows/messages.js';
import { approve, claim, storeRequest } from '../support/requests.js';
import { vouch } from '../support/vouch.js';
import { openOwnTemporal } from './own-temporal.js';
import {
  describeRun,
  eventually,
  liveState,
  log,
  startTestWorker,
  statusOf,
  type TestWorker,
  untilEnded,
  untilKnown,
  untilStored,
} from './support.js';

let server: Awaited<ReturnType<typeof openOwnTemporal>>;
let worker: TestWorker;
beforeAll(async () => {
  server = await openOwnTemporal();
  await server.start();
  worker = await startTestWorker({ address: server.address });
  // Makes the row that says when the last round was.
  await round();
});
afterAll(async () => {
  await worker.stop();
  await server.close();
});

/** A reconciler with no patience. */
function reconciler(over: Partial<ReconcilerOptions> = {}) {
  const { database, temporal, taskQueue, metrics } = worker;
  const own = { database, temporal, taskQueue, metrics, log };
  return createReconciler({ ...own, maxBacklog: 10_000, onMoved: () => {}, everyMs: 1000, graceMs: 0, ...over });
}

/** One round at once. */
async function round(maxBacklog = 10_000, temporal = worker.temporal): Promise<void> {
  await worker.database.query(`update background_state set updated_at = '-infinity' where name = 'reconciler'`);
  await reconciler({ maxBacklog, temporal }).once();
}

async function repairs(): Promise<number> {
  const { values } = await worker.metrics.workflowRepairs.get();
  return values[0]?.value ?? 0;
}

const handleOf = (id: string) => worker.client.workflow.getHandle(requestWorkflowId(id));

/** Deaf to news and without a clock, as a forged view of an operator can make it. */
async function deafen(id: string): Promise<void> {
  const view = { version: 999, status: 'pending', turn: 'nobody', clock: null, final: false };
  await handleOf(id).signal('change', { who: 'x', step: null, view });
  await eventually(async () => (await liveState(worker, id))?.stored?.version === 999);
}

const expireNow = (id: string) =>
  worker.database.query(`update requests set expires_at = clock_timestamp() - interval '1 second' where id = $1`, [id]);

describe('the reconciler', () => {
  it('finds nothing to do in health', async () => {
    const ids = await Promise.all([1, 2, 3].map(() => storeRequest(worker.database)));
    for (const id of ids) await untilKnown(worker, id, 'pending');
    await eventually(async () => (await worker.client.workflow.count("ExecutionStatus = 'Running'")).count >= 3);
    const before = await repairs();
    for (let n = 0; n < 3; n += 1) await round();
    expect(await repairs()).toBe(before);
  });

  it('tells a workflow to read again when its request is overdue', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await deafen(id);
    await expireNow(id);
    await round();
    await untilStored(worker, id, 'expired');
    expect((await untilEnded(worker, id)).status.name).toBe('COMPLETED');
  });

  it('starts a terminated workflow again when its request is overdue', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await handleOf(id).terminate();
    await expireNow(id);
    await round();
    await untilStored(worker, id, 'expired');
  });

  it('moves a request itself that is still overdue a round later, and replaces its workflow', async () => {
    const { database } = worker;
    const id = await storeRequest(database, { dispatched: true, operation: 'execute_dml' });
    await claim(database, id, 60_000);
    await untilKnown(worker, id, 'running');
    const first = await describeRun(worker, id);
    await deafen(id);
    await database.query(
      `update background_state set content = jsonb_set(content, '{overdue}', to_jsonb(array[$1::text])) where name = 'reconciler'`,
      [id],
    );
    await database.query(
      `update executions set lease_expires_at = clock_timestamp() - interval '1 second' where request_id = $1`,
      [id],
    );
    const before = await repairs();
    await round();
    expect(await statusOf(worker, id)).toBe('execution_lost');
    expect(await repairs()).toBe(before + 1);
    await eventually(async () => (await describeRun(worker, id)).runId !== first.runId);
    await untilEnded(worker, id);
  });

  it('runs once for all processes', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await handleOf(id).terminate();
    await worker.database.query(`update requests set expires_at = clock_timestamp() + interval '1 hour' where id = $1`, [id]);
    await vouch(worker.database, id);
    await worker.database.query(`update background_state set updated_at = clock_timestamp() where name = 'reconciler'`);
    const patient = reconciler({ everyMs: 60_000 });
    const [before] = await worker.database.query('select * from background_state');
    await Promise.all([patient.once(), patient.once()]);
    expect(await worker.database.query('select * from background_state')).toEqual([before]);
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
  });

  it('runs again when the clock of Postgres goes back after a round', async () => {
    await round();
    await worker.database.query(
      `update background_state set updated_at = clock_timestamp() + interval '1 day' where name = 'reconciler'`,
    );
    await reconciler({ everyMs: 60_000 }).once();
    const [row] = await worker.database.query<{ ahead: boolean }>(
      `select updated_at > clock_timestamp() + interval '1 hour' as ahead from background_state where name = 'reconciler'`,
    );
    expect(row).toEqual({ ahead: false });
  });

  it('starts only what is gone when Temporal counts too few because its index is late', async () => {
    const ids = await Promise.all([1, 2, 3].map(() => storeRequest(worker.database)));
    for (const id of ids) await untilKnown(worker, id, 'pending');
    const runs = await Promise.all(ids.map((id) => describeRun(worker, id)));
    await handleOf(ids[1]!).terminate();
    const counting = (count: number): typeof worker.temporal => ({
      ...worker.temporal,
      call: (operation, work) =>
        operation === 'count'
          ? Promise.resolve({ count } as Awaited<ReturnType<typeof work>>)
          : worker.temporal.call(operation, work),
    });
    // The round of the test before may have found too few.
    await round(10_000, counting(1000));
    const late = counting(0);
    const before = await repairs();
    for (let n = 0; n < 2; n += 1) await round(10_000, late);
    await eventually(async () => (await describeRun(worker, ids[1]!)).runId !== runs[1]!.runId);
    await untilKnown(worker, ids[1]!, 'pending');
    await round(10_000, late);
    expect(await repairs()).toBe(before + 1);
    const after = await Promise.all(ids.map((id) => describeRun(worker, id)));
    expect(after.map(({ runId }, n) => runId === runs[n]!.runId)).toEqual([true, false, true]);
    expect(after[0]!.historyLength).toBe(runs[0]!.historyLength);
  });

  it('misses its own workflows although another gateway in the namespace has more (OP-73)', async () => {
    const ids = await Promise.all([1, 2].map(() => storeRequest(worker.database)));
    for (const id of ids) await untilKnown(worker, id, 'pending');
    const start = (requestId: string, taskQueue: string) =>
      worker.client.workflow.start('request', { workflowId: requestId, taskQueue, args: [{ id: requestId, view: null }] });
    const others = await Promise.all(Array.from({ length: 20 }, (_, n) => start(`other-${n}`, 'others')));
    const runs = await Promise.all(ids.map((id) => describeRun(worker, id)));
    for (const id of ids) await handleOf(id).terminate();
    const running = `WorkflowType = 'request' AND ExecutionStatus = 'Running'`;
    await eventually(async () => (await worker.client.workflow.count(running)).count >= 20);
    await eventually(async () => {
      await round();
      const after = await Promise.all(ids.map((id) => describeRun(worker, id)));
      return after.every(({ runId }, n) => runId !== runs[n]!.runId);
    });
    for (const other of others) await other.terminate();
  });

  it('gives every request its workflow again when Temporal has lost its data, in parts', async () => {
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => storeRequest(worker.database)));
    for (const id of ids) await untilKnown(worker, id, 'pending');
    await server.kill();
    server.loseData();
    await server.start();
    await eventually(async () => (await worker.temporal.find()) !== null);
    await eventually(async () => {
      await round(6);
      const states = await Promise.all(ids.map((id) => liveState(worker, id)));
      return states.every((state) => state?.stored?.status === 'pending');
    });
    await eventually(async () => {
      const before = await repairs();
      await round();
      return (await repairs()) === before;
    });
    const run = await describeRun(worker, ids[0]!);
    expect(await run.staticSummary()).toBe('UPDATE on shop/production by alice');
    expect(run.searchAttributes).toMatchObject({ SvcDatabase: ['shop'] });
  }, 60_000);
});
