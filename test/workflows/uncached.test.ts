import { afterAll, beforeAll, expect, it } from 'vitest';
import { requestWorkflowId } from '../../workflows/messages.js';
import { approve, claim, finish, resume, storeRequest } from '../support/requests.js';
import { startTestWorker, type TestWorker, untilEnded, untilKnown, untilStored } from '../worker/support.js';

let worker: TestWorker;
beforeAll(async () => {
  worker = await startTestWorker({ maxCachedWorkflows: 0 });
});
afterAll(async () => {
  await worker.stop();
});

it('a workflow that is replayed from its history for each task follows its request all the same', async () => {
  const { database } = worker;
  // One after the other: without a cache the library drops the eager task of a second start until it times out after 10 s.
  const id = await storeRequest(database);
  await untilKnown(worker, id, 'pending');
  await approve(database, id);
  await untilKnown(worker, id, 'approved');
  await resume(database, id);
  await untilKnown(worker, id, 'dispatched');
  await finish(database, id, await claim(database, id));
  await untilEnded(worker, id);
  expect(await worker.client.workflow.getHandle(requestWorkflowId(id)).result()).toBe('executed');
  const overdue = await storeRequest(database, { pendingSecs: 1 });
  await untilStored(worker, overdue, 'expired');
  expect((await untilEnded(worker, overdue)).status.name).toBe('COMPLETED');
});
