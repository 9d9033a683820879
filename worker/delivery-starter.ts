import type { Client } from '@temporalio/client';
import { type UntoldDelivery, untoldDeliveries } from '../db/delivery-starts.js';
import { deliveryChanged, deliveryWorkflow, deliveryWorkflowId } from '../workflows/messages.js';
import type { Job } from './job.js';
import { isAlreadyStarted } from './send-news.js';
import { createStarter, type Told, tell } from './starter.js';

export interface DeliveryStarterOptions extends Told {
  /** Called for each delivery whose cancel was told. */
  onCancelled?: () => void;
}

/** Starts the workflow of each stored delivery, and tells it of a cancel. None is started twice (notifications.md section 7). */
export function createDeliveryStarter({ taskQueue, onCancelled, ...told }: DeliveryStarterOptions): Job {
  return createStarter({
    ...told,
    rows: 'deliveries',
    operation: 'deliver',
    untold: untoldDeliveries,
    tell: (client, one) =>
      one.cancelled ? tell(client, deliveryWorkflowId(one.id), deliveryChanged) : start(client, one, taskQueue),
    onTold: ({ cancelled }) => {
      if (cancelled) onCancelled?.();
    },
  });
}

async function start(client: Client, { id, webhookId, eventType, stuck }: UntoldDelivery, taskQueue: string): Promise<void> {
  await client.workflow
    .start(deliveryWorkflow, {
      workflowId: deliveryWorkflowId(id),
      taskQueue,
      args: [{ id }],
      staticSummary: `${eventType} to ${webhookId}`,
      // One that does not go on, as after a return to an older version, is replaced. An attempt that runs all the same is stored, and waited for.
      workflowIdConflictPolicy: stuck ? 'TERMINATE_EXISTING' : 'FAIL',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      requestEagerStart: true,
    })
    .catch((error: unknown) => {
      if (!isAlreadyStarted(error)) throw error;
      // It was told before and is overdue all the same: it looks at the row at once.
      return tell(client, deliveryWorkflowId(id), deliveryChanged);
    });
}
