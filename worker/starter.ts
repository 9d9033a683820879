import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import type { Untold } from '../db/untold.js';
import type { Job } from './job.js';
import { describeError } from './temporal-errors.js';
import { probeMs, type TemporalLink } from './temporal-link.js';

/** Calls at once. Requests' news, which callers wait for, goes through the same Temporal. */
const atOnce = 16;
const pauseMs = 2000;
const afterFailureMs = 1000;

/** What each starter needs. */
export interface Told {
  database: Database;
  temporal: TemporalLink;
  taskQueue: string;
  log: Logger;
}

export interface StarterOptions<Row extends { id: string }> extends Omit<Told, 'taskQueue'> {
  /** In the plural, as the log says it. */
  rows: string;
  /** How the metric of failed calls to Temporal names it. */
  operation: string;
  untold: Untold<Row>;
  /** Starts the row's workflow or tells it of the change. Repeats do no harm. */
  tell(client: Client, row: Row): Promise<unknown>;
  onTold?: (row: Row) => void;
}

/** Tells Temporal of stored rows, soon after they are committed. What Temporal did not accept waits. */
export function createStarter<Row extends { id: string }>(options: StarterOptions<Row>): Job {
  const { database, temporal, log, rows, operation, untold, onTold } = options;
  return {
    name: `starter of ${rows}`,
    wakeOn: untold.topic,
    async once() {
      if ((await temporal.find()) === null) return probeMs;
      const taken = await untold.take(database, atOnce);
      if (taken.length === 0) return pauseMs;
      const failures: string[] = [];
      const told = await Promise.all(
        taken.map((one) =>
          temporal
            .call(operation, (client) => options.tell(client, one))
            .then(
              () => true,
              (error: unknown) => {
                failures.push(describeError(error));
                return false;
              },
            ),
        ),
      );
      const accepted = taken.filter((_, at) => told[at]);
      await untold.markTold(database, accepted);
      for (const one of accepted) onTold?.(one);
      if (failures.length === 0) return 0;
      log.warn({ count: failures.length, error: failures[0] }, `Temporal did not take ${rows}`);
      const left = taken.filter((_, at) => !told[at]).map(({ id }) => id);
      await untold.giveBack(database, left, afterFailureMs);
      return afterFailureMs;
    },
  };
}

/** Makes a workflow read its row again. Does nothing if it does not run. */
export async function tell(client: Client, workflowId: string, signal: string): Promise<void> {
  await client.workflow
    .getHandle(workflowId)
    .signal(signal)
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}
