import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import type { Untold } from '../db/untold.js';

export interface KeeperOptions {
  database: Database;
  log: Logger;
  everyMs?: number;
  graceMs?: number;
}

export const keepEveryMs = 60_000;
/** Rows of one statement. */
export const keeperBatch = 1000;

/** Restores workflows that Temporal has lost: their rows become overdue. `rows` is their name in the plural. Returns how many. */
export async function restoreLost(
  { database, log }: KeeperOptions,
  { untold, rows, graceMs }: { untold: Pick<Untold<never>, 'retell'>; rows: string; graceMs: number },
): Promise<number> {
  const count = await database.transaction((tx) => untold.retell(tx, graceMs, keeperBatch));
  if (count > 0) log.warn({ count }, `${rows} had no workflow and are started again`);
  return count;
}
