import type { Database } from '../db/client.js';
import { beat, endBeat } from '../db/workers.js';
import type { Job } from './job.js';

const everyMs = 10_000;
const notWorkingPauseMs = 500;

/** While `isWorking`, records for every process's `/ready` that the task queue has a live worker (OP-10). */
export function createPresence(options: {
  database: Database;
  identity: string;
  taskQueue: string;
  isWorking: () => boolean;
}): Job {
  const { database, identity, taskQueue, isWorking } = options;
  return {
    name: 'presence',
    async once() {
      if (!isWorking()) return notWorkingPauseMs;
      await beat(database, identity, taskQueue);
      return everyMs;
    },
    async finish() {
      await endBeat(database, identity).catch(() => {});
    },
  };
}
