import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countBacklog, insertReadAgain, takeNews } from '../../db/outbox.js';
import { createPublisher } from '../../worker/publisher.js';
import { createTemporalLink } from '../../worker/temporal-link.js';
import { requestWorkflowId } from '../../workflows/messages.js';
import { approve, cancel, claim, finish, resume, storeRequest } from '../support/requests.js';
import { describeRun, eventually, log, startTestWorker, type TestWorker, untilEnded, untilKnown } from './support.js';

let worker: TestWorker;
beforeAll(async () => {
  worker = await startTestWorker();
});
afterAll(async () => {
  await worker.stop();
});

const waiting = () => countBacklog(worker.database);
const untilTold = () => eventually(async () => (await waiting()) === 0);

async function signalsOf(id: string): Promise<string[]> {
  const { events } = await worker.client.workflow.getHandle(requestWorkflowId(id)).fetchHistory();
  return (events ?? []).flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? []);
}

describe('the publisher', () => {
  it('deletes the news that Temporal has accepted, and only that', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await untilTold();
    expect(worker.failures).toEqual([]);
  });

  it('tells every decision in the order of versions, with who decided', async () => {
    const { database } = worker;
    const id = await storeRequest(database);
    // Before it knows a state, a workflow reads the stored one, and may then end without hearing the rest.
    await untilKnown(worker, id, 'pending');
    await approve(database, id);
    await resume(database, id);
    await cancel(database, id);
    await untilEnded(worker, id);
    expect(await signalsOf(id)).toEqual(['approval', 'resumption', 'cancellation']);
    expect(await worker.client.workflow.getHandle(requestWorkflowId(id)).result()).toBe('cancelled');
  });

  it('starts an executed read with its final view and tells nothing of what was overtaken', async () => {
    const { database } = worker;
    const id = await storeRequest(database, { dispatched: true, operation: 'execute_select' });
    await finish(database, id, await claim(database, id));
    await untilEnded(worker, id);
    expect(await signalsOf(id)).toEqual([]);
  });

  it('tells a running workflow by signal when the news to start it comes a second time', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    const { runId } = await describeRun(worker, id);
    await worker.database.transaction(async (tx) => {
      await insertReadAgain(tx, [id]);
      await tx.query('update outbox set starts = true where request_id = $1', [id]);
    });
    await eventually(async () => (await signalsOf(id)).length === 1);
    expect((await describeRun(worker, id)).runId).toBe(runId);
  });

  it('publishes what was committed by a process that died before it could wake anybody', async () => {
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    await worker.database.transaction((tx) => insertReadAgain(tx, [id]));
    await untilTold();
    expect(await signalsOf(id)).toEqual(['change']);
  });

  it('holds back a request whose news Temporal refuses, with its error, and nobody else', async () => {
    const { database } = worker;
    const refused = await storeRequest(database, { id: randomUUID() });
    await untilKnown(worker, refused, 'pending');
    // Temporal takes no payload above 2 MiB.
    await database.query(
      `insert into outbox (request_id, version, signal, actor, view, starts, lingers, due_at)
       values ($1, 2, 'change', repeat('x', 3000000), null, false, false, clock_timestamp())`,
      [refused],
    );
    await eventually(async () => (await heldError(refused)) !== null);
    const other = await storeRequest(database);
    await untilKnown(worker, other, 'pending');
    expect(await heldError(refused)).toMatch(/\w/);
    await database.query('delete from outbox where request_id = $1', [refused]);
  });

  it('lets two publishers share the work without telling a request out of order', async () => {
    const { database, temporal, taskQueue } = worker;
    const second = createPublisher({ database, temporal, taskQueue, log });
    const ids = await Promise.all(Array.from({ length: 20 }, () => storeRequest(database)));
    const moves = ids.map(async (id) => {
      await approve(database, id);
      await cancel(database, id);
    });
    await Promise.all([...moves, second.once(), second.once()]);
    await eventually(async () => {
      await second.once();
      return (await waiting()) === 0;
    });
    for (const id of ids) await untilEnded(worker, id);
  });

  it('takes all news of a request at once, or none of it', async () => {
    const { database } = worker;
    await untilTold();
    const id = randomUUID();
    const add = (version: number, dueInMs: number) =>
      database.query(
        `insert into outbox (request_id, version, signal, actor, starts, lingers, due_at)
         values ($1, $2, 'change', 'x', false, false, clock_timestamp() + $3::int * interval '1 millisecond')`,
        [id, version, dueInMs],
      );
    await database.transaction(async (tx) => {
      await tx.query('lock table outbox in share row exclusive mode');
      await tx.query(
        `insert into outbox (request_id, version, signal, actor, starts, lingers, due_at, taken_until)
         values ($1, 1, 'change', 'x', false, false, clock_timestamp(), clock_timestamp() + interval '1 hour')`,
        [id],
      );
    });
    await add(2, 0);
    await sleep(100);
    expect(await database.transaction((tx) => takeNews(tx, 32))).toEqual([]);
    await database.query('delete from outbox where request_id = $1', [id]);
  });

  it('does nothing while Temporal is not connected', async () => {
    const { database, taskQueue, metrics } = worker;
    const away = createTemporalLink({ namespace: 'default', callTimeoutMs: 100, metrics, log });
    const idle = createPublisher({ database, temporal: away, taskQueue, log });
    expect(await idle.once()).toBeGreaterThan(0);
    expect(away.isUsable()).toBe(false);
  });
});

async function heldError(id: string): Promise<string | null> {
  const [row] = await worker.database.query<{ error: string | null }>('select error from outbox where request_id = $1', [id]);
  return row?.error ?? null;
}
