import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { requestSignals, requestWorkflow, requestWorkflowId } from '../../workflows/messages.js';
import { approve, cancel, claim, finish, reject, resume, storeRequest } from '../support/requests.js';
import {
  describeRun,
  eventually,
  liveState,
  startTestWorker,
  statusOf,
  type TestWorker,
  untilEnded,
  untilKnown,
  untilStored,
} from '../worker/support.js';

/** Each waits for many tasks of workflows in a row, on a busy machine too. */
vi.setConfig({ testTimeout: 60_000 });

let worker: TestWorker;
beforeAll(async () => {
  worker = await startTestWorker();
});
afterAll(async () => {
  await worker.stop();
});

const handleOf = (id: string) => worker.client.workflow.getHandle(requestWorkflowId(id));
const forged = { turn: 'nobody', clock: null };

const untilStarted = (id: string) => eventually(() => describeRun(worker, id).catch(() => null));

/** Asks the workflow to read the stored state, as a signal without a view does. */
const tellToRead = (id: string) => handleOf(id).signal('change', null);

describe('the request workflow', () => {
  it('follows a request from pending through approval and resumption to completion', async () => {
    const { database } = worker;
    const id = await storeRequest(database);
    expect(await untilKnown(worker, id, 'pending')).toMatchObject({ stored: { version: 1 }, clock: expect.stringMatching(/Z$/) });
    await approve(database, id);
    await untilKnown(worker, id, 'approved');
    await resume(database, id);
    await untilKnown(worker, id, 'dispatched');
    const execution = await claim(database, id);
    await finish(database, id, execution);
    const run = await untilEnded(worker, id);
    expect(run.status.name).toBe('COMPLETED');
    expect(await handleOf(id).result()).toBe('executed');
  });

  it('shows operators a summary, search attributes, current details and the text of its timer', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    const run = await describeRun(worker, id);
    expect(await run.staticSummary()).toBe('UPDATE on shop/production by alice');
    expect(run.searchAttributes).toMatchObject({
      SvcDatabase: ['shop'],
      SvcEnvironment: ['production'],
      SvcOperation: ['execute_dml'],
      SvcRisk: ['low'],
      SvcRequester: ['alice'],
      SvcStatus: ['pending'],
      SvcTurn: ['group:dba-team'],
    });
    const metadata = await handleOf(id).query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toMatch(/^\*\*pending\*\*\n- turn: group:dba-team\n- until: \d{4}-/);
    const { events } = await handleOf(id).fetchHistory();
    const timer = events?.find((event) => event.timerStartedEventAttributes);
    expect(Buffer.from(timer?.userMetadata?.summary?.data ?? []).toString()).toMatch(/waits for approval until \d{4}-/);
  });

  it('keeps status and turn searchable until the end (OP-75)', async () => {
    const { database } = worker;
    const id = await storeRequest(database);
    const shown = async () => {
      const { SvcStatus, SvcTurn } = (await describeRun(worker, id)).searchAttributes;
      return [SvcStatus?.[0], SvcTurn?.[0]];
    };
    await untilKnown(worker, id, 'pending');
    await approve(database, id);
    await untilKnown(worker, id, 'approved');
    expect(await shown()).toEqual(['approved', 'requester']);
    await resume(database, id);
    await untilKnown(worker, id, 'dispatched');
    await finish(database, id, await claim(database, id));
    await untilEnded(worker, id);
    expect(await shown()).toEqual(['executed', 'nobody']);
  });

  it('says in its details that a cancel in the Temporal UI has no effect, and goes on', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await handleOf(id).cancel();
    const details = async () =>
      (await handleOf(id).query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
    await expect.poll(details).toContain('cancel the request with `svc request cancel`');
    expect(await details()).toContain('**pending**');
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
    expect(await details()).toContain('no effect');
  });

  it('starts a request that is final before it is told with its final view, and ends it in one task', async () => {
    const { database } = worker;
    const id = await storeRequest(database, { dispatched: true, operation: 'execute_select' });
    await finish(database, id, await claim(database, id));
    await untilEnded(worker, id);
    const { events } = await handleOf(id).fetchHistory();
    expect(events).toHaveLength(5);
  });

  it('expires a pending request at its instant, and needs no second run to hear of its own move (ST-7, TT-6)', async () => {
    const id = await storeRequest(worker.database, { pendingSecs: 1 });
    const { runId } = await untilStarted(id);
    await untilStored(worker, id, 'expired');
    await untilEnded(worker, id);
    const [late] = await worker.database.query<{ early: boolean }>(
      'select updated_at < expires_at as early from requests where id = $1',
      [id],
    );
    expect(late?.early).toBe(false);
    await eventually(async () => (await worker.database.query('select 1 from outbox where request_id = $1', [id])).length === 0);
    expect((await describeRun(worker, id)).runId).toBe(runId);
  });

  it('expires an approved request when its time to run is over (ST-8)', async () => {
    const id = await storeRequest(worker.database, { approvalSecs: 1 });
    await approve(worker.database, id);
    await untilStored(worker, id, 'expired');
  });

  it('gives a dispatch that nobody claims back to its requester (ST-11)', async () => {
    const id = await storeRequest(worker.database, { dispatched: true, dispatchMs: 700 });
    await untilStored(worker, id, 'approved');
    expect(await untilKnown(worker, id, 'approved')).toMatchObject({ stored: { version: 2 } });
  });

  it('ends a lost lease when no sweeper does (ST-14)', async () => {
    const id = await storeRequest(worker.database, { dispatched: true });
    await claim(worker.database, id, 300);
    await untilStored(worker, id, 'execution_lost');
  });

  it('runs again after its end when a failed request is resumed (ST-9)', async () => {
    const { database } = worker;
    const id = await storeRequest(database, { dispatched: true });
    await finish(database, id, await claim(database, id), false);
    const first = await untilEnded(worker, id);
    await resume(database, id);
    await untilKnown(worker, id, 'dispatched');
    expect((await describeRun(worker, id)).runId).not.toBe(first.runId);
  });

  it('hears of rejection and cancellation', async () => {
    const rejected = await storeRequest(worker.database);
    const cancelled = await storeRequest(worker.database);
    await Promise.all([reject(worker.database, rejected), cancel(worker.database, cancelled)]);
    await untilEnded(worker, rejected);
    await untilEnded(worker, cancelled);
    expect(await handleOf(rejected).result()).toBe('rejected');
    expect(await handleOf(cancelled).result()).toBe('cancelled');
  });

  it('is started again by the next news after an operator has terminated it (ST-22)', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await handleOf(id).terminate();
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
  });

  it('is ended by no cancel in the Temporal UI, and its clock still moves the request', async () => {
    const id = await storeRequest(worker.database, { pendingSecs: 4 });
    await untilStarted(id);
    await handleOf(id).cancel();
    await untilStored(worker, id, 'expired');
    expect((await untilEnded(worker, id)).status.name).toBe('COMPLETED');
  });

  it('drops what is not a view, and reads the stored state instead', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    const foreign = [
      null,
      undefined,
      'text',
      7,
      {},
      { view: 7 },
      { view: { version: 2 } },
      { view: { ...forged, version: 1e300, status: 'x', final: true } },
    ];
    for (const payload of foreign) await handleOf(id).signal('approval', payload);
    await handleOf(id).signal('rejection', {
      view: { ...forged, version: 9, status: 'rejected', final: false, clock: { kind: 1, at: 2, inMs: 'x' } },
    });
    await handleOf(id).signal('unknown-signal', {});
    await sleep(300);
    expect(await eventually(() => liveState(worker, id))).toMatchObject({ stored: { version: 1, status: 'pending' } });
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
  });

  it.each([
    ['json/plain', '{"view":'],
    ['json/protobuf', '{}'],
    ['binary/encrypted', 'x'],
  ])('goes on after a signal that cannot be read, of the encoding %s', async (encoding, data) => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await worker.client.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: requestWorkflowId(id) },
      signalName: 'approval',
      input: { payloads: [{ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) }] },
    });
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
  });

  it.each([
    ['nothing', []],
    ['another request', [{ id: randomUUID(), view: null }]],
  ])('that an operator starts by hand, with %s, follows the request of its id', async (_, args) => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await handleOf(id).terminate();
    const { taskQueue } = worker;
    await worker.client.workflow.start(requestWorkflow, { workflowId: requestWorkflowId(id), taskQueue, args });
    await untilKnown(worker, id, 'pending');
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
  });

  it('that was ended by a forged final view comes back with the next news', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await handleOf(id).signal('rejection', { view: { ...forged, version: 5, status: 'rejected', final: true } });
    await untilEnded(worker, id);
    expect(await statusOf(worker, id)).toBe('pending');
    await approve(worker.database, id);
    expect(await untilKnown(worker, id, 'approved')).toMatchObject({ stored: { version: 2 } });
  });

  it('that was deafened by a forged version hears again when it is told to read', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await handleOf(id).signal('change', { view: { ...forged, version: 999, status: 'pending', final: false } });
    await untilKnown(worker, id, 'pending');
    await approve(worker.database, id);
    await sleep(300);
    expect(await eventually(() => liveState(worker, id))).toMatchObject({ stored: { version: 999 } });
    await tellToRead(id);
    expect(await untilKnown(worker, id, 'approved')).toMatchObject({ stored: { version: 2 } });
  });

  it.each([
    ['a clock that no request has', { clock: { kind: 'lunch' } }],
    ['an odd number of milliseconds', { clock: { inMs: 1500.23456789 } }],
    ['a status too long for Temporal', { status: 'x'.repeat(5000) }],
    ['a turn too long for Temporal', { turn: 'x'.repeat(5000) }],
    ['an empty status and turn', { status: '', turn: '' }],
  ])('that believes a forged view with %s reads the stored state when its clock is over (OP-73)', async (_, odd) => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    const at = new Date(Date.now() + 1500).toISOString();
    const clock = { kind: 'pending', at, inMs: 1500, ...('clock' in odd ? odd.clock : {}) };
    const view = { turn: 'nobody', version: 9, status: 'pending', final: false, ...odd, clock };
    await handleOf(id).signal('change', { view });
    const knows = (version: number) => eventually(async () => (await liveState(worker, id))?.stored?.version === version);
    await knows(9);
    await knows(1);
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
  });

  it('that knows more than a restored database hears of an end that is not newer (ST-22)', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await handleOf(id).signal('approval', { view: { ...forged, version: 3, status: 'approved', final: false } });
    await untilKnown(worker, id, 'approved');
    await reject(worker.database, id);
    await untilEnded(worker, id);
    expect(await statusOf(worker, id)).toBe('rejected');
  });

  it('ignores news that comes twice, late or out of order', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    const old = { ...forged, version: 1, status: 'pending', final: false };
    await approve(worker.database, id);
    await untilKnown(worker, id, 'approved');
    for (const name of requestSignals) await handleOf(id).signal(name, { who: 'bob', step: 0, view: old });
    await sleep(300);
    expect(await eventually(() => liveState(worker, id))).toMatchObject({ stored: { version: 2, status: 'approved' } });
  });

  it('that starts with a final view goes on from newer news that came with it (ST-22)', async () => {
    const { database, client, taskQueue } = worker;
    const id = await storeRequest(database, { dispatched: true });
    await untilKnown(worker, id, 'dispatched');
    await handleOf(id).terminate();
    const view = { ...forged, version: 2, status: 'failed', final: true };
    await client.workflow.signalWithStart('request', {
      workflowId: requestWorkflowId(id),
      taskQueue,
      args: [{ id, view }],
      signal: 'change',
      signalArgs: [{ who: 'alice', step: null, view: { ...forged, version: 3, status: 'dispatched', final: false } }],
    });
    expect(await untilKnown(worker, id, 'dispatched')).toMatchObject({ stored: { version: 3 } });
    expect((await describeRun(worker, id)).status.name).toBe('RUNNING');
    await handleOf(id).terminate();
  });

  it('of an id that is not stored, or is none, ends at once', async () => {
    for (const id of ['00000000-0000-4000-8000-000000000000', "x' or true --"]) {
      const started = await worker.client.workflow.start('request', {
        workflowId: requestWorkflowId(id),
        taskQueue: worker.taskQueue,
        args: [{ id, view: { ...forged, version: 3, status: 'pending', final: false } }],
      });
      expect(await started.result()).toBe('not_stored');
    }
  });
});
