import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, it } from 'vitest';
import { cancelDeliveriesExcept, insertDeliveries } from '../../db/webhook-deliveries.js';
import type { Outcome } from '../../domain/notifications/attempt.js';
import { createDeliveryStarter } from '../../worker/delivery-starter.js';
import { deliveryWorkflow, deliveryWorkflowId } from '../../workflows/messages.js';
import { eventually, log, startTestWorker, type TestWorker } from '../worker/support.js';
import { recordHistory } from './history-file.js';

let worker: TestWorker;
let outcome: Outcome;
let waitMs: number;
beforeAll(async () => {
  worker = await startTestWorker({
    deliver: { isKnown: () => true, send: async () => outcome, nextAttemptMs: () => waitMs },
    jobs: (parts) => [createDeliveryStarter({ ...parts, log })],
  });
});
afterAll(() => worker?.stop());

const delivered: Outcome = { delivered: true, status: 200 };
const refused: Outcome = { delivered: false, status: 503, error: 'status 503', retryAfter: null };
const record = (name: string, id: string) => recordHistory(worker.client, name, deliveryWorkflowId(id));
const ended = (id: string) => worker.client.workflow.getHandle(deliveryWorkflowId(id)).result();

async function stored(): Promise<string> {
  const id = randomUUID();
  const one = { id, webhookId: 'ops', eventType: 'user.created', requestId: null, body: '{}', yields: false };
  await worker.database.transaction((tx) => insertDeliveries(tx, [one]));
  return id;
}

const attempted = (id: string) =>
  eventually(async () => {
    const [row] = await worker.database.query<{ attempts: number }>('select attempts from webhook_deliveries where id = $1', [id]);
    return (row?.attempts ?? 0) > 0;
  });

it('delivered at once', async () => {
  outcome = delivered;
  const id = await stored();
  await attempted(id);
  await ended(id);
  await record('delivery-at-once', id);
});

it('delivered after a failure', async () => {
  outcome = refused;
  waitMs = 1;
  const id = await stored();
  await attempted(id);
  outcome = delivered;
  await ended(id);
  await record('delivery-again', id);
});

it('cancelled while it waits', async () => {
  outcome = refused;
  waitMs = 3_600_000;
  const id = await stored();
  await attempted(id);
  await record('delivery-open', id);
  await worker.database.transaction((tx) => cancelDeliveriesExcept(tx, [], 10));
  await ended(id);
  await record('delivery-cancelled', id);
});

it('not stored', async () => {
  const id = randomUUID();
  await worker.client.workflow.execute(deliveryWorkflow, {
    workflowId: deliveryWorkflowId(id),
    taskQueue: worker.taskQueue,
    args: [{ id }],
  });
  await record('delivery-not-stored', id);
});
