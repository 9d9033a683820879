import type { Database } from '../db/client.js';
import { beat, endBeat } from '../db/reconcile.js';
import type { Job } from './job.js';

const everyMs = 10_000;
const notWorkingPauseMs = 500;

/** Tells `/ready` of all processes that a worker of the task queue lives (OP-10), as long as `isWorking`. */
export function createHeartbeat(options: {
  database: Database;
  identity: string;
  taskQueue: string;
  isWorking: () => boolean;
}): Job {
  const { database, identity, taskQueue, isWorking } = options;
  return {
    name: 'heartbeat',
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
