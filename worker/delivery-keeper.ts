import type { Logger } from 'pino';
import type { Database, Transaction } from '../db/client.js';
import { retellOverdue } from '../db/delivery-starts.js';
import { keepGeneration, latestGeneration } from '../db/generations.js';
import { cancelDeliveriesExcept, deleteFinishedDeliveries } from '../db/webhook-deliveries.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const everyMs = 60_000;
const batch = 1000;
const keptDays = 7;
/** A delivery that is due is attempted within a minute, whatever dies (NT-52). */
const graceMs = 60_000;

/**
 * Restores workflows of deliveries that Temporal has lost, cancels those of webhooks that are no longer configured, and deletes those that ended a week
 * ago (NT-55).
 */
export function createDeliveryKeeper(options: { database: Database; log: Logger; everyMs?: number; graceMs?: number }): Job {
  const { database, log } = options;
  return inRounds(database, {
    name: 'delivery keeper',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      const cancelled = await database.transaction(cancelRemoved);
      const retold = await database.transaction((tx) => retellOverdue(tx, options.graceMs ?? graceMs, batch));
      if (retold > 0) log.warn({ count: retold }, 'deliveries had no workflow and are started again');
      const deleted = await deleteFinishedDeliveries(database, keptDays, batch);
      return cancelled === batch || deleted === batch;
    },
  });
}

/** Returns how many. No reload adds a webhook meanwhile, whose first deliveries would be cancelled with the removed ones (NT-3). */
async function cancelRemoved(tx: Transaction): Promise<number> {
  await keepGeneration(tx);
  const inForce = await latestGeneration(tx);
  if (inForce === undefined) return 0;
  const ids = inForce.content.webhooks.map(({ id }) => id);
  return cancelDeliveriesExcept(tx, ids, batch);
}
