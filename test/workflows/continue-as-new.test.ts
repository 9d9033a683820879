import { afterAll, beforeAll, expect, it } from 'vitest';
import { requestWorkflowId } from '../../workflows/messages.js';
import { approve, storeRequest } from '../support/requests.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { describeRun, eventually, startTestWorker, type TestWorker, untilKnown } from '../worker/support.js';

let server: Awaited<ReturnType<typeof openOwnTemporal>>;
let worker: TestWorker;
beforeAll(async () => {
  server = await openOwnTemporal(['limit.historyCount.suggestContinueAsNew=30']);
  await server.start();
  worker = await startTestWorker({ address: server.address });
});
afterAll(async () => {
  await worker.stop();
  await server.close();
});

it('continues as a new run that reads the stored state, with its search attributes kept', async () => {
  const id = await storeRequest(worker.database);
  await untilKnown(worker, id, 'pending');
  const handle = worker.client.workflow.getHandle(requestWorkflowId(id));
  const first = await describeRun(worker, id);
  const next = await eventually(async () => {
    await handle.signal('change', null);
    const run = await describeRun(worker, id);
    return run.runId === first.runId ? null : run;
  });
  expect(next.searchAttributes).toMatchObject({ SvcDatabase: ['shop'], SvcRequester: ['alice'] });
  const { events } = await handle.fetchHistory();
  const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  expect(JSON.parse(Buffer.from(input ?? []).toString())).toMatchObject({ id, view: { version: 1, status: 'pending' } });
  await approve(worker.database, id);
  await untilKnown(worker, id, 'approved');
});
