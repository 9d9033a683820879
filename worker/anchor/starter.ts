import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { returnToStart, takeToStart } from '../../db/audit-anchors.js';
import type { Database } from '../../db/client.js';
import { type AnchorInput, anchorWorkflow, anchorWorkflowId } from '../../workflows/messages.js';
import type { Job } from '../job.js';
import { isAlreadyStarted } from '../send-news.js';
import { describeError } from '../temporal-errors.js';
import { probeMs, type TemporalLink } from '../temporal-link.js';

export interface StarterOptions {
  database: Database;
  temporal: TemporalLink;
  taskQueue: string;
  log: Logger;
  /** After this long a checkpoint that still waits is asked for again, in case its workflow is gone. */
  againMs?: number;
}

const lookEveryMs = 1000;
const refusedPauseMs = 5000;
const askAgainMs = 60_000;

/**
 * Starts the workflow that gives checkpoints to the anchor outside (AU-88). Its id comes from the oldest that waits, so that one workflow works
 * while any does, whoever starts it and however often.
 */
export function createAnchorStarter({ database, temporal, taskQueue, log, againMs = askAgainMs }: StarterOptions): Job {
  return {
    name: 'anchor_starter',
    async once() {
      if ((await temporal.find()) === null) return probeMs;
      const seq = await takeToStart(database, againMs);
      if (seq === null) return lookEveryMs;
      try {
        await temporal.call('start', (client) => startAnchor(client, seq, taskQueue));
        return lookEveryMs;
      } catch (error) {
        log.warn({ seq, error: describeError(error) }, 'Temporal did not take the workflow of an anchor');
        await returnToStart(database, seq);
        return refusedPauseMs;
      }
    },
  };
}

/** Nothing happens if it runs already. */
async function startAnchor(client: Client, oldest: number, taskQueue: string): Promise<void> {
  const input: AnchorInput = { oldest };
  await client.workflow
    .start(anchorWorkflow, {
      workflowId: anchorWorkflowId(taskQueue, oldest),
      taskQueue,
      args: [input],
      staticSummary: `gives the audit log from checkpoint ${oldest} on to the anchor outside`,
      workflowIdConflictPolicy: 'FAIL',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    })
    .catch((error: unknown) => {
      if (!isAlreadyStarted(error)) throw error;
    });
}
