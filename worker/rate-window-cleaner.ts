import type { Database } from '../db/client.js';
import { deleteEndedWindows } from '../db/rate-windows.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const batch = 1000;

/** Deletes ended rate windows (operations.md section 9). */
export const createRateWindowCleaner = ({ database }: { database: Database }): Job =>
  inRounds(database, {
    name: 'rate window cleaner',
    everyMs: 60_000,
    part: async () => (await deleteEndedWindows(database, batch)) === batch,
  });
