import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { retellOverdue } from '../db/delivery-starts.js';
import { latestGeneration } from '../db/generations.js';
import { cancelDeliveriesExcept, deleteFinishedDeliveries } from '../db/webhook-deliveries.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const everyMs = 60_000;
const batch = 1000;
const keptDays = 7;
/** A delivery that is due is attempted within a minute, whatever dies (NT-52). */
const graceMs = 60_000;

/**
 * Restores workflows of deliveries that Temporal has lost, cancels those that a process wrote under a former configuration, and deletes those that
 * ended a week ago (NT-55).
 */
export function createDeliveryKeeper(options: { database: Database; log: Logger; everyMs?: number; graceMs?: number }): Job {
  const { database, log } = options;
  return inRounds(database, {
    name: 'delivery keeper',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      const retold = await database.transaction(async (tx) => {
        const inForce = await latestGeneration(tx);
        if (inForce !== undefined)
          await cancelDeliveriesExcept(
            tx,
            inForce.content.webhooks.map(({ id }) => id),
          );
        return retellOverdue(tx, options.graceMs ?? graceMs, batch);
      });
      if (retold > 0) log.warn({ count: retold }, 'deliveries had no workflow and are started again');
      return (await deleteFinishedDeliveries(database, keptDays, batch)) === batch;
    },
  });
}
