import type { Database } from '../db/client.js';
import { setNextRound, takeRound } from '../db/rounds.js';
import type { Job } from './job.js';

export interface SharedWork {
  name: string;
  /** Between the end of one round and the beginning of the next, over all processes. */
  everyMs: number;
  /** Does one part, which must end within a minute or call `goOn` meanwhile; answers whether more is left. */
  part(goOn: () => Promise<void>): Promise<boolean>;
}

/** How long a process that died keeps the others from its work. */
const holdMs = 60_000;
const longestPauseMs = 60_000;

/** Work that one of all processes does at a time; a process that is killed in a round is followed by another one. */
export function inRounds(database: Database, { name, everyMs, part }: SharedWork): Job {
  const goOn = () => setNextRound(database, name, holdMs);
  // Looked for more often than done, so that a round is not late by a whole one when the process that ran the last one is gone.
  const pauseMs = Math.min(longestPauseMs, Math.max(50, everyMs / 4));
  return {
    name,
    async once() {
      if (!(await takeRound(database, name, holdMs))) return pauseMs;
      const more = await part(goOn);
      await setNextRound(database, name, more ? 0 : everyMs);
      return more ? 0 : pauseMs;
    },
  };
}
