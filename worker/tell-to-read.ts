import type { Logger } from 'pino';
import type { Transaction } from '../db/client.js';
import { topic } from '../db/notifications.js';
import { insertReadAgain } from '../db/outbox.js';
import type { Metrics } from '../runtime/metrics.js';

/** Gives requests news by which a workflow, a new one if none runs, reads the stored state again (OP-73), and says `what` in the log. */
export async function tellToRead(
  tx: Transaction,
  { metrics, log }: { metrics: Metrics; log: Logger },
  ids: readonly string[],
  what: string,
): Promise<void> {
  if (ids.length === 0) return;
  await insertReadAgain(tx, ids);
  tx.wake(topic.outbox);
  metrics.workflowRepairs.inc(ids.length);
  log.warn({ count: ids.length, first: ids[0] }, what);
}
