import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { insertGeneration } from '../../db/generations.js';
import { insertDeliveries } from '../../db/webhook-deliveries.js';
import type { Delivery, Outcome } from '../../domain/notifications/attempt.js';
import type { SharedConfig } from '../../domain/policies.js';
import { createDeliveryKeeper } from '../../worker/delivery-keeper.js';
import { createDeliveryStarter } from '../../worker/delivery-starter.js';
import { deliveryWorkflowId } from '../../workflows/messages.js';
import { eventually, log, startTestWorker, type TestWorker } from './support.js';

let worker: TestWorker;
let sent: Delivery[];
let waitMs: number;
let answer: (delivery: Delivery) => Outcome | Promise<Outcome>;
const ok: Outcome = { delivered: true, status: 200 };
const status503: Outcome = { delivered: false, status: 503, error: 'status 503', retryAfter: null };

beforeAll(async () => {
  worker = await startTestWorker({
    deliver: {
      isKnown: (id) => !id.startsWith('elsewhere'),
      send: async (delivery) => {
        sent.push(delivery);
        return answer(delivery);
      },
      nextAttemptMs: (attempt) => (attempt === 10 ? null : waitMs),
    },
    jobs: (parts) => [
      createDeliveryStarter({ ...parts, log }),
      createDeliveryKeeper({ ...parts, log, everyMs: 200, graceMs: 1000 }),
    ],
  });
});
afterAll(() => worker?.stop());
beforeEach(() => {
  waitMs = 20;
  sent = [];
  answer = () => ok;
});

async function store(webhookId = 'ops', body = '{"event":"user.created"}'): Promise<string> {
  const id = randomUUID();
  const one = { id, webhookId, eventType: 'user.created', requestId: null, body, yields: false };
  await worker.database.transaction((tx) => insertDeliveries(tx, [one]));
  return id;
}

async function find(id: string) {
  const [row] = await worker.database.query<{ status: string; attempts: number; lastError: string | null; open: boolean }>(
    `select status, attempts, last_error as "lastError", finished_at is null as open from webhook_deliveries where id = $1`,
    [id],
  );
  return row;
}

const untilEnded = (id: string) => eventually(async () => (await find(id))?.open === false);
const sentTo = (id: string) => sent.filter((one) => one.id === id);
const historyOf = async (id: string) =>
  (await worker.client.workflow.getHandle(deliveryWorkflowId(id)).fetchHistory()).events ?? [];

it('delivers what is stored, once, and its workflow ends with the status (NT-3, NT-I2)', async () => {
  const id = await store();
  await untilEnded(id);
  expect(await find(id)).toMatchObject({ status: 'delivered', attempts: 1, lastError: null });
  expect(sentTo(id)).toHaveLength(1);
  expect(await worker.client.workflow.getHandle(deliveryWorkflowId(id)).result()).toBe('delivered');
});

it('tries again after a failure with the same bytes, and keeps its class (NT-22, NT-50, NT-53, NT-I3)', async () => {
  answer = ({ attempts }) => (attempts < 2 ? status503 : ok);
  const id = await store('ops', '{"event":"user.created","é":"\\u0000"}');
  await untilEnded(id);
  expect(await find(id)).toEqual({ status: 'delivered', attempts: 3, lastError: 'status 503', open: false });
  expect(new Set(sentTo(id).map(({ body }) => body))).toEqual(new Set(['{"event":"user.created","é":"\\u0000"}']));
});

it('is dead after ten failed attempts, of which Temporal keeps a few events only (NT-50, NT-I4)', async () => {
  answer = () => status503;
  const id = await store();
  await untilEnded(id);
  expect(await find(id)).toMatchObject({ status: 'dead', attempts: 10, lastError: 'status 503' });
  expect(sentTo(id)).toHaveLength(10);
  // Attempts leave no events; what tells a delivery that it is due begins an activity anew, a few times at most.
  const scheduled = (await historyOf(id)).filter((event) => event.activityTaskScheduledEventAttributes);
  expect(scheduled.length).toBeLessThan(10);
});

it('runs at most eight attempts of a webhook at once, and another webhook does not wait for it (NT-54)', async () => {
  let running = 0;
  let most = 0;
  const held: (() => void)[] = [];
  answer = async ({ webhookId }) => {
    if (webhookId !== 'slow') return ok;
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => held.push(resolve));
    running -= 1;
    return ok;
  };
  const slow = await Promise.all(Array.from({ length: 20 }, () => store('slow')));
  await eventually(() => running === 8);
  const quick = await store('quick');
  await untilEnded(quick);
  expect(most).toBe(8);
  const letGo = setInterval(() => held.splice(0).forEach((go) => void go()), 20);
  for (const id of slow) await untilEnded(id);
  clearInterval(letGo);
  expect(most).toBe(8);
  expect((await find(quick))?.status).toBe('delivered');
});

it('leaves a delivery to a worker that knows its webhook, without counting an attempt (CF-31)', async () => {
  const id = await store('elsewhere');
  await eventually(async () => (await historyOf(id).catch(() => [])).length > 0);
  const described = () => worker.client.workflow.getHandle(deliveryWorkflowId(id)).describe();
  await eventually(async () =>
    (await described()).raw.pendingActivities?.some(({ lastFailure }) => lastFailure?.message?.includes('does not know')),
  );
  expect(await find(id)).toMatchObject({ status: 'pending', attempts: 0 });
  // The keeper tells Temporal of it again only if nobody comes back to it.
  const [row] = await worker.database.query<{ later: boolean }>(
    'select next_retry_at > created_at + interval $$4 s$$ as later from webhook_deliveries where id = $1',
    [id],
  );
  expect(row?.later).toBe(true);
});

it('a delivery whose workflow Temporal has lost is started again (NT-I2)', async () => {
  answer = () => status503;
  const id = await store();
  await eventually(async () => ((await find(id))?.attempts ?? 0) > 0);
  await worker.client.workflow.getHandle(deliveryWorkflowId(id)).terminate('lost');
  answer = () => ok;
  await untilEnded(id);
  expect((await find(id))?.status).toMatch(/delivered|dead/);
});

it('a delivery whose workflow does not go on is given another one (NT-52)', async () => {
  const id = randomUUID();
  const { client, database } = worker;
  // On a queue that no worker serves, as after a change of `temporal.task_queue`.
  await client.workflow.start('delivery', { workflowId: deliveryWorkflowId(id), taskQueue: `gone-${id}`, args: [{ id }] });
  const one = { id, webhookId: 'ops', eventType: 'user.created', requestId: null, body: '{}', yields: false };
  await database.transaction(async (tx) => {
    await insertDeliveries(tx, [one]);
    await tx.query(
      `update webhook_deliveries set told = true, next_retry_at = clock_timestamp() - interval '1 hour' where id = $1`,
      [id],
    );
  });
  await untilEnded(id);
  expect(await find(id)).toMatchObject({ status: 'delivered', attempts: 1 });
  expect(sentTo(id)).toHaveLength(1);
});

it('of which a worker died during an attempt is attempted again, and not an eleventh time (NT-52, NT-I4)', async () => {
  const left = await Promise.all([store('elsewhere'), store('elsewhere')]);
  const died = (id: string, attempts: number) =>
    worker.database.query(
      `update webhook_deliveries set webhook_id = 'ops', status = 'in_progress', next_retry_at = null, attempts = $2,
         attempt_started_at = clock_timestamp() - interval '1 minute' where id = $1`,
      [id, attempts],
    );
  await died(left[0]!, 1);
  await died(left[1]!, 10);
  for (const id of left) await untilEnded(id);
  expect(await find(left[0]!)).toMatchObject({ status: 'delivered', attempts: 2 });
  expect(await find(left[1]!)).toMatchObject({ status: 'dead', attempts: 10 });
  expect(sentTo(left[1]!)).toEqual([]);
});

it('that is overdue although its workflow runs is attempted at once when it is told again (NT-52)', async () => {
  waitMs = 3_600_000;
  answer = () => status503;
  const id = await store('far');
  await eventually(async () => {
    const found = await find(id);
    return found?.status === 'pending' && found.attempts === 1;
  });
  answer = () => ok;
  await worker.database.query(
    `update webhook_deliveries set next_retry_at = clock_timestamp() - interval '1 hour' where id = $1 and status = 'pending'`,
    [id],
  );
  await untilEnded(id);
  expect((await find(id))?.status).toBe('delivered');
});

it('that ended a week ago is deleted, and no other (NT-55)', async () => {
  const [old, recent] = [await store(), await store()];
  for (const id of [old, recent]) await untilEnded(id);
  await worker.database.query(`update webhook_deliveries set finished_at = finished_at - interval '169 hours' where id = $1`, [
    old,
  ]);
  await eventually(async () => (await find(old)) === undefined);
  expect(await find(recent)).toBeDefined();
});

it('whose webhook was removed is cancelled, waiting or attempted, and its workflow ends (section 7)', async () => {
  waitMs = 3_600_000;
  answer = () => status503;
  const ids = [await store('removed'), await store('elsewhere too')];
  await eventually(async () => (await find(ids[0]!))?.attempts === 1);
  const webhooks = ['ops', 'slow', 'quick', 'far', 'elsewhere'].map((id) => ({ id }));
  await worker.database.transaction((tx) => insertGeneration(tx, 'd', { webhooks } as unknown as SharedConfig));
  for (const id of ids) {
    await untilEnded(id);
    expect((await find(id))?.status).toBe('cancelled');
    expect(await worker.client.workflow.getHandle(deliveryWorkflowId(id)).result()).toBe('cancelled');
  }
});
