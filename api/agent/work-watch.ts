import type { Work } from '../../db/claimable-jobs.js';
import { createWatches, type Watches } from '../http/watches.js';

/** How long a look that found nothing stands for another one, if nothing was notified. Some work becomes claimable with time alone (AG-17). */
const believedMs = 5000;

/** News for agents, also between their polls, so that a poll need not look for work that the one before did not find (AG-23). */
export const createWorkWatches = (): Watches<Work> => createWatches({ believedMs, stands: isEmpty });

const isEmpty = ({ jobs, dryRuns, dryRunSoon, preflightWaits }: Work): boolean =>
  jobs.length + dryRuns.length === 0 && !dryRunSoon && !preflightWaits;
