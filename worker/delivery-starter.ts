import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { markTold, returnUntold, takeUntold, type UntoldDelivery } from '../db/delivery-starts.js';
import { topic } from '../db/notifications.js';
import { deliveryChanged, deliveryWorkflow, deliveryWorkflowId } from '../workflows/messages.js';
import type { Job } from './job.js';
import { isAlreadyStarted } from './send-news.js';
import { describeError } from './temporal-errors.js';
import { probeMs, type TemporalLink } from './temporal-link.js';

/** Starts at once. Requests' news, which callers wait for, goes through the same Temporal. */
const atOnce = 16;
const pauseMs = 2000;
const afterFailureMs = 1000;

export interface DeliveryStarterOptions {
  database: Database;
  temporal: TemporalLink;
  taskQueue: string;
  log: Logger;
  /** Called for each delivery whose cancel was told. */
  onCancelled?: () => void;
}

/** Starts the workflow of each stored delivery, and tells it of a cancel. None is started twice; what Temporal did not accept waits (section 7). */
export function createDeliveryStarter({ database, temporal, taskQueue, log, onCancelled }: DeliveryStarterOptions): Job {
  return {
    name: 'delivery starter',
    wakeOn: topic.deliveries,
    async once() {
      if ((await temporal.find()) === null) return probeMs;
      const taken = await takeUntold(database, atOnce);
      if (taken.length === 0) return pauseMs;
      const failures: string[] = [];
      const told = await Promise.all(
        taken.map((one) =>
          temporal
            .call('deliver', (client) => (one.cancelled ? tell(client, one) : start(client, one, taskQueue)))
            .then(
              () => true,
              (error: unknown) => {
                failures.push(describeError(error));
                return false;
              },
            ),
        ),
      );
      await markTold(
        database,
        taken.filter((_, at) => told[at]),
      );
      for (const [at, { cancelled }] of taken.entries()) if (cancelled && told[at]) onCancelled?.();
      if (failures.length === 0) return 0;
      log.warn({ count: failures.length, error: failures[0] }, 'Temporal did not take deliveries');
      const left = taken.filter((_, at) => !told[at]).map(({ id }) => id);
      await returnUntold(database, left, afterFailureMs);
      return afterFailureMs;
    },
  };
}

async function start(client: Client, { id, webhookId, eventType }: UntoldDelivery, taskQueue: string): Promise<void> {
  await client.workflow
    .start(deliveryWorkflow, {
      workflowId: deliveryWorkflowId(id),
      taskQueue,
      args: [{ id }],
      staticSummary: `${eventType} to ${webhookId}`,
      workflowIdConflictPolicy: 'FAIL',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      requestEagerStart: true,
    })
    .catch((error: unknown) => {
      if (!isAlreadyStarted(error)) throw error;
      // It was told before and is overdue all the same: it looks at the row at once.
      return tell(client, { id });
    });
}

/** Has the workflow read the row again; none needs to be there. */
async function tell(client: Client, { id }: Pick<UntoldDelivery, 'id'>): Promise<void> {
  await client.workflow
    .getHandle(deliveryWorkflowId(id))
    .signal(deliveryChanged)
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}
