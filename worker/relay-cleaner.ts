import type { Database } from '../db/client.js';
import { deleteOverdueRelay } from '../db/results.js';
import type { Job } from './job.js';

const everyMs = 60_000;

/** Deletes relayed results whose time is over (RS-45). */
export function createRelayCleaner({ database }: { database: Database }): Job {
  return {
    name: 'relay cleaner',
    async once() {
      await deleteOverdueRelay(database);
      return everyMs;
    },
  };
}
