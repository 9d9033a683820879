import { appendFileSync } from 'node:fs';
import { it } from 'vitest';
import { requestWorkflowId } from '../../workflows/messages.js';
import { storeRequest } from '../support/requests.js';
import { startTestWorker, untilEnded, untilStored, untilKnown, eventually } from '../worker/support.js';
it.each([0, 400])('x %i', async (maxCachedWorkflows) => {
  const worker = await startTestWorker({ maxCachedWorkflows });
  const t0 = Date.now(); const out = (s: string) => appendFileSync('/tmp/unc.log', s + '\n'); const lap = (s: string) => out(s + ' ' + (Date.now() - t0));
  lap('--- ' + maxCachedWorkflows);
  const { database } = worker;
  const [id, overdue] = await Promise.all([storeRequest(database), storeRequest(database, { pendingSecs: 1 })]);
  await eventually(async () => worker.worker.isWorking()); lap('working');
  await untilKnown(worker, id, 'pending'); lap('known');
  await untilStored(worker, overdue, 'expired'); lap('expired');
  await untilEnded(worker, overdue); lap('ended');
  for (const x of [id, overdue]) {
  const { events } = await worker.client.workflow.getHandle(requestWorkflowId(x)).fetchHistory();
  for (const e of events!) out(Math.round(Number(e.eventTime!.seconds) * 1000 + e.eventTime!.nanos! / 1e6 - t0) + ' ' + Object.keys(e).filter((k) => k.endsWith('Attributes')).join());
  }
  await worker.stop();
}, 60000);
