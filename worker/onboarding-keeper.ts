import { untoldOnboardings } from '../db/onboarding-starts.js';
import type { Job } from './job.js';
import { type KeeperOptions, keepEveryMs, keeperBatch, restoreLost } from './keeper.js';
import { inRounds } from './rounds.js';

/** Restores workflows of onboardings that Temporal has lost. */
export const createOnboardingKeeper = ({ everyMs = keepEveryMs, graceMs = 30_000, ...options }: KeeperOptions): Job =>
  inRounds(options.database, {
    name: 'onboarding keeper',
    everyMs,
    part: async () => (await restoreLost(options, { untold: untoldOnboardings, rows: 'onboardings', graceMs })) === keeperBatch,
  });
