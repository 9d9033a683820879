import type { Database } from '../db/client.js';
import { lockKeys, nextKeyStepMs } from '../db/signing-keys.js';
import { stepKeys } from '../runtime/key-rotation.js';
import type { Job } from './job.js';

/** The longest until a rotation by command is noticed; its instants are minutes away. */
const atMostMs = 10_000;

/** Carries out scheduled rotations: the published key takes over, the old one retires (ET-25). Postgres stores the instants. */
export function createKeyKeeper({ database }: { database: Database }): Job {
  return {
    name: 'key keeper',
    async once() {
      const dueIn = await nextKeyStepMs(database);
      if (dueIn !== null && dueIn <= 0)
        await database.transaction(async (tx) => {
          await lockKeys(tx);
          await stepKeys(tx);
        });
      return Math.min(atMostMs, Math.max(0, dueIn !== null && dueIn > 0 ? Math.ceil(dueIn) : atMostMs));
    },
  };
}
