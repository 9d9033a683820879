import type { Transaction } from '../db/client.js';
import { untoldDeliveries } from '../db/delivery-starts.js';
import { keepGeneration, latestGeneration } from '../db/generations.js';
import { cancelDeliveriesExcept, deleteFinishedDeliveries } from '../db/webhook-deliveries.js';
import type { Job } from './job.js';
import { type KeeperOptions, keepEveryMs, keeperBatch, restoreLost } from './keeper.js';
import { inRounds } from './rounds.js';

const keptDays = 7;
/** A delivery that is due is attempted within a minute, whatever dies (NT-52). */
const withinMs = 60_000;

/**
 * Restores workflows of deliveries that Temporal has lost, cancels those of webhooks that are no longer configured, and deletes those that ended a week
 * ago (NT-55).
 */
export function createDeliveryKeeper({ everyMs = keepEveryMs, graceMs = withinMs, ...options }: KeeperOptions): Job {
  const { database } = options;
  return inRounds(database, {
    name: 'delivery keeper',
    everyMs,
    async part() {
      const cancelled = await database.transaction(cancelRemoved);
      await restoreLost(options, { untold: untoldDeliveries, rows: 'deliveries', graceMs });
      const deleted = await deleteFinishedDeliveries(database, keptDays, keeperBatch);
      return cancelled === keeperBatch || deleted === keeperBatch;
    },
  });
}

/** Returns how many. No reload adds a webhook meanwhile, whose first deliveries would be cancelled with the removed ones (NT-3). */
async function cancelRemoved(tx: Transaction): Promise<number> {
  await keepGeneration(tx);
  const inForce = await latestGeneration(tx);
  if (inForce === undefined) return 0;
  const ids = inForce.content.webhooks.map(({ id }) => id);
  return cancelDeliveriesExcept(tx, ids, keeperBatch);
}
