import type { Database } from '../db/client.js';
import { setNextRound, takeRound } from '../db/rounds.js';
import type { Job } from './job.js';

export interface SharedWork {
  name: string;
  /** From the end of one round to the start of the next, over all processes. */
  everyMs: number;
  /** Does one part, which must end within a minute or keep calling `goOn`. Returns whether more is left. */
  part(goOn: () => Promise<void>): Promise<boolean>;
}

/** How long the work of a process that died stays blocked. */
const holdMs = 60_000;
const longestPauseMs = 60_000;

/** Work that only one process does at a time. If it is killed during a round, another process takes over. */
export function inRounds(database: Database, { name, everyMs, part }: SharedWork): Job {
  const goOn = () => setNextRound(database, name, holdMs);
  // Checks more often than rounds are due, so that no round is a whole interval late if the process that ran the last one is gone.
  const pauseMs = Math.min(longestPauseMs, Math.max(50, everyMs / 4));
  return {
    name,
    async once() {
      if (!(await takeRound(database, name, holdMs, everyMs))) return pauseMs;
      const more = await part(goOn).catch((error: unknown) => passOn(database, name, error));
      await setNextRound(database, name, more ? 0 : everyMs);
      return more ? 0 : pauseMs;
    },
  };
}

/** What this process cannot do, because of its clock or its way to a store, another one may be able to: it finds the round free. */
async function passOn(database: Database, name: string, error: unknown): Promise<never> {
  await setNextRound(database, name, 0).catch(() => {});
  throw error;
}
