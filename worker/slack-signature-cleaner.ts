import type { Database } from '../db/client.js';
import { deleteOldSignatures } from '../db/slack-signatures.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const batch = 1000;

/** Forgets signatures of Slack's calls that no longer pass (operations.md section 9). */
export const createSlackSignatureCleaner = ({ database }: { database: Database }): Job =>
  inRounds(database, {
    name: 'slack signature cleaner',
    everyMs: 60_000,
    part: async () => (await deleteOldSignatures(database, batch)) === batch,
  });
