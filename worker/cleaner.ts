import type { Database } from '../db/client.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const batch = 1000;

/** Deletes each minute what is over (operations.md section 9). */
export const createCleaner = (
  database: Database,
  name: string,
  deleteSome: (db: Database, limit: number) => Promise<number>,
): Job => inRounds(database, { name, everyMs: 60_000, part: async () => (await deleteSome(database, batch)) === batch });
