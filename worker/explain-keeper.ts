import type { Database } from '../db/client.js';
import { returnStaleDryRuns } from '../db/dry-run-jobs.js';
import { cleanPreflightJobs } from '../db/preflight-jobs.js';
import type { Job } from './job.js';

const everyMs = 5000;

/** Releases EXPLAIN jobs whose agent fell silent (AG-68), and expires and deletes preflight jobs (AG-71). */
export function createExplainKeeper({ database, staleSecs }: { database: Database; staleSecs?: number }): Job {
  return {
    name: 'explain keeper',
    async once() {
      await database.transaction((tx) => returnStaleDryRuns(tx, staleSecs));
      await cleanPreflightJobs(database);
      return everyMs;
    },
  };
}
