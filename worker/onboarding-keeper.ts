import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { retellOverdueOnboardings } from '../db/onboarding-starts.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const everyMs = 60_000;
const graceMs = 30_000;
const batch = 1000;

/** Restores workflows of onboardings that Temporal has lost: such onboardings become overdue. */
export function createOnboardingKeeper(options: { database: Database; log: Logger; everyMs?: number; graceMs?: number }): Job {
  const { database, log } = options;
  return inRounds(database, {
    name: 'onboarding keeper',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      const retold = await database.transaction((tx) => retellOverdueOnboardings(tx, options.graceMs ?? graceMs, batch));
      if (retold > 0) log.warn({ count: retold }, 'onboardings had no workflow and are started again');
      return retold === batch;
    },
  });
}
