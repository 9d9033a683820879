import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMetrics } from '../../runtime/metrics.js';
import { createEndedWorkflows } from '../../worker/ended-workflows.js';
import { requestOfWorkflow, requestWorkflowId } from '../../workflows/messages.js';
import { createTestDatabase, openTestDatabase } from '../support/postgres.js';
import { approve, storeRequest } from '../support/requests.js';
import { refusingTemporal } from './refusing-temporal.js';
import { describeRun, eventually, log, startTestWorker, type TestWorker, untilEnded, untilKnown } from './support.js';

let worker: TestWorker;
beforeAll(async () => {
  worker = await startTestWorker({
    jobs: (parts) => [
      createEndedWorkflows({ ...parts, log, everyMs: 200 }),
      createEndedWorkflows({ ...parts, log, everyMs: 200 }),
    ],
  });
});
afterAll(() => worker?.stop());

const handleOf = (id: string) => worker.client.workflow.getHandle(requestWorkflowId(id));
const runOf = async (id: string) => (await describeRun(worker, id)).runId;

describe('a workflow that an operator terminates (OP-73)', () => {
  it('is started again at once, follows its request, and no run follows beside it', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    const before = await runOf(id);
    await handleOf(id).terminate();
    await eventually(async () => (await runOf(id)) !== before);
    await untilKnown(worker, id, 'pending');
    const again = await runOf(id);
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
    expect(await runOf(id)).toBe(again);
    expect((await describeRun(worker, id)).searchAttributes).toMatchObject({ SvcStatus: ['approved'], SvcTurn: ['requester'] });
  });

  it('is started again by a worker whose clock is minutes ahead', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    const before = await runOf(id);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 });
    onTestFinished(() => void vi.useRealTimers());
    await handleOf(id).terminate();
    await eventually(async () => (await runOf(id)) !== before);
  });

  it('is left alone when its request has ended', async () => {
    const { database } = worker;
    const id = await storeRequest(database, { pendingSecs: 1 });
    await untilEnded(worker, id);
    const other = await storeRequest(database);
    await untilKnown(worker, other, 'pending');
    await database.query(`update requests set status = 'cancelled' where id = $1`, [other]);
    const ended = await runOf(other);
    await handleOf(other).terminate();
    // Two more that are started again say that rounds went by.
    for (let n = 0; n < 2; n += 1) {
      const witness = await storeRequest(database);
      await untilKnown(worker, witness, 'pending');
      const run = await runOf(witness);
      await handleOf(witness).terminate();
      await eventually(async () => (await runOf(witness)) !== run);
    }
    expect(await runOf(other)).toBe(ended);
  });
});

it('OP-73: a Temporal that does not answer is asked again in the next round, and is no unexpected failure', async () => {
  const stored = await createTestDatabase();
  const database = openTestDatabase(stored.url);
  onTestFinished(async () => {
    await database.close();
    await stored.drop();
  });
  const temporal = refusingTemporal();
  const job = createEndedWorkflows({ database, temporal, metrics: createMetrics('test'), log, everyMs: 1 });
  await eventually(async () => {
    await job.once();
    return temporal.calls > 1;
  });
});

it('only ids of request workflows name a request', () => {
  const id = '0190f9a2-0000-7000-8000-000000000001';
  expect(requestOfWorkflow(requestWorkflowId(id))).toBe(id);
  for (const other of ['', id, `delivery-${id}`, `request-${id}-1`, 'request-x', `request-${id}'; drop`])
    expect(requestOfWorkflow(other)).toBeNull();
});
