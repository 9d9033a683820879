import type { Database } from '../db/client.js';
import { deleteEndedWindows } from '../db/rate-windows.js';
import type { Job } from './job.js';

const everyMs = 60_000;
const batch = 1000;

/** Forgets rate windows that are over (operations section 9); rows that another process is at are left to it. */
export function createRateWindowCleaner({ database }: { database: Database }): Job {
  return {
    name: 'rate window cleaner',
    async once() {
      return (await deleteEndedWindows(database, batch)) === batch ? 0 : everyMs;
    },
  };
}
