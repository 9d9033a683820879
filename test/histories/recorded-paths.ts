import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, it } from 'vitest';
import { createStep } from '../../activities/step.js';
import type { Database } from '../../db/client.js';
import { requestSignals, requestWorkflowId } from '../../workflows/messages.js';
import { approve, cancel, claim, finish, reject, resume, secretTexts, storeRequest } from '../support/requests.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { describeRun, eventually, liveState, startTestWorker, type TestWorker, untilEnded, untilKnown, untilStored } from '../worker/support.js';
import { recordHistory } from './history-file.js';
import { vouch } from '../support/vouch.js';

let server: Awaited<ReturnType<typeof openOwnTemporal>>;
let worker: TestWorker;
let failures = 0;
const broken = async () => {
  failures -= 1;
  throw new Error(secretTexts.error);
};
const failing = createStep({ database: { query: broken, transaction: broken } as unknown as Database });
beforeAll(async () => {
  server = await openOwnTemporal(['limit.historyCount.suggestContinueAsNew=60']);
  await server.start();
  worker = await startTestWorker({
    address: server.address,
    wrapStep: (step) => (id, clock) => (failures > 0 ? failing.step(id, clock) : step(id, clock)),
  });
});
afterAll(async () => {
  await worker.stop();
  await server.close();
});

const handleOf = (id: string, runId?: string) => worker.client.workflow.getHandle(requestWorkflowId(id), runId);
const forged = { turn: 'nobody', clock: null };

/** Writes the history of a run, the newest one if none is named. */
const record = (name: string, id: string, runId?: string) => recordHistory(worker.client, name, requestWorkflowId(id), runId);

async function pendingRequest(options = {}): Promise<string> {
  const id = await storeRequest(worker.database, options);
  await untilKnown(worker, id, 'pending');
  return id;
}

async function finished(id: string, success = true): Promise<void> {
  await finish(worker.database, id, await claim(worker.database, id), success);
  await untilEnded(worker, id);
}

it('approval, resumption, claim and completion', async () => {
  const id = await pendingRequest();
  await approve(worker.database, id);
  await untilKnown(worker, id, 'approved');
  await resume(worker.database, id);
  await untilKnown(worker, id, 'dispatched');
  const execution = await claim(worker.database, id);
  await untilKnown(worker, id, 'running');
  await record('open-while-running', id);
  await finish(worker.database, id, execution);
  await untilEnded(worker, id);
  await record('approved-and-executed', id);
});

it('started with its final view', async () => {
  const id = await storeRequest(worker.database, { dispatched: true, operation: 'execute_select' });
  await finished(id);
  await record('started-final', id);
});

it('failed, and run again', async () => {
  const id = await storeRequest(worker.database, { dispatched: true });
  await finished(id, false);
  await resume(worker.database, id);
  await untilKnown(worker, id, 'dispatched');
  await finished(id);
  await record('run-again', id);
});

it('rejected and cancelled', async () => {
  const [rejected, cancelled] = [await pendingRequest(), await pendingRequest()];
  await reject(worker.database, rejected);
  await cancel(worker.database, cancelled);
  await untilEnded(worker, rejected);
  await untilEnded(worker, cancelled);
  await record('rejected', rejected);
  await record('cancelled', cancelled);
});

it('clocks', async () => {
  const pending = await pendingRequest({ pendingSecs: 1 });
  const approved = await pendingRequest({ approvalSecs: 1 });
  await approve(worker.database, approved);
  const dispatched = await storeRequest(worker.database, { dispatched: true, dispatchMs: 700 });
  const lost = await storeRequest(worker.database, { dispatched: true });
  await claim(worker.database, lost, 100);
  await untilStored(worker, dispatched, 'approved');
  for (const id of [pending, approved, lost]) await untilEnded(worker, id);
  await untilKnown(worker, dispatched, 'approved');
  await record('expired-pending', pending);
  await record('expired-approved', approved);
  await record('dispatch-timeout', dispatched);
  await record('lost-lease', lost);
});

it('a timer that fired early', async () => {
  const id = await pendingRequest({ pendingSecs: 1 });
  await worker.database.query(`update requests set expires_at = expires_at + interval '1500 milliseconds' where id = $1`, [id]);
  await vouch(worker.database, id);
  await untilEnded(worker, id);
  await record('timer-early', id);
});

it('news that waited for a worker', async () => {
  const id = await pendingRequest();
  const clock = { kind: 'approved', at: new Date(Date.now() + 60_000).toISOString(), inMs: 3_600_000 };
  await handleOf(id).signal('approval', { view: { version: 2, status: 'approved', turn: 'requester', clock, final: false } });
  await untilKnown(worker, id, 'approved');
  await cancel(worker.database, id);
  await handleOf(id).signal('change', null);
  await untilEnded(worker, id);
  await record('waited-for-a-worker', id);
});

it('terminated, and started by the next news', async () => {
  const id = await pendingRequest();
  await handleOf(id).terminate();
  await approve(worker.database, id);
  await untilKnown(worker, id, 'approved');
  await record('started-by-a-signal', id);
});

it('cancelled in the Temporal UI', async () => {
  const id = await pendingRequest({ pendingSecs: 1 });
  await handleOf(id).cancel();
  await untilEnded(worker, id);
  await record('cancelled-in-the-ui', id);
});

it('foreign and forged payloads', async () => {
  const deaf = await pendingRequest();
  for (const payload of [null, 7, { view: { version: 2 } }]) await handleOf(deaf).signal('approval', payload);
  // A step that is still to come would undo what is forged next.
  await sleep(500);
  await handleOf(deaf).signal('change', { view: { ...forged, version: 999, status: 'pending', final: false } });
  await eventually(async () => (await liveState(worker, deaf))?.stored?.version === 999);
  for (const name of requestSignals) await handleOf(deaf).signal(name, { view: { ...forged, version: 1, status: 'pending', final: false } });
  await handleOf(deaf).signal('change', null);
  await eventually(async () => (await liveState(worker, deaf))?.stored?.version === 1);
  await record('forged-version', deaf);
  const ended = await pendingRequest();
  await handleOf(ended).signal('rejection', { view: { ...forged, version: 9, status: 'rejected', final: true } });
  await untilEnded(worker, ended);
  await record('forged-final', ended);
});

it('an end that came late', async () => {
  const id = await pendingRequest();
  await handleOf(id).signal('approval', { view: { ...forged, version: 3, status: 'approved', final: false } });
  await untilKnown(worker, id, 'approved');
  await handleOf(id).signal('rejection', { view: { ...forged, version: 2, status: 'rejected', final: true } });
  await untilKnown(worker, id, 'pending');
  await record('end-that-came-late', id);
});

it('an id that is not stored', async () => {
  const id = '00000000-0000-4000-8000-000000000000';
  const args = [{ id, view: null }];
  await worker.client.workflow.execute('request', { workflowId: requestWorkflowId(id), taskQueue: worker.taskQueue, args });
  await record('not-stored', id);
});

it('steps that fail and are tried again, within the task and by a timer of the server', async () => {
  const id = await pendingRequest();
  failures = 7;
  await handleOf(id).signal('change', null);
  await eventually(async () => failures === 0);
  await sleep(100);
  await approve(worker.database, id);
  await untilKnown(worker, id, 'approved');
  await record('failing-step', id);
}, 60_000);

it('continued as a new run', async () => {
  const id = await pendingRequest();
  const { runId } = await describeRun(worker, id);
  await eventually(async () => {
    await handleOf(id).signal('change', null);
    return (await describeRun(worker, id)).runId !== runId;
  });
  await approve(worker.database, id);
  await untilKnown(worker, id, 'approved');
  await record('continued-first-run', id, runId);
  await record('continued-next-run', id);
});
