import { findFullBlock, storeBlock } from '../db/audit-blocks.js';
import type { Database } from '../db/client.js';
import type { Job } from './job.js';

/** A search looks one by one at what was sealed since the last block. */
const lookEveryMs = 5000;
const pauseMs = 100;

/** Stores which events of the audit log have which value, in blocks, for its search (AU-63). Any number of processes may run it. */
export const createAuditBlocks = ({ database }: { database: Database }): Job => ({
  name: 'audit blocks',
  async once() {
    const block = await findFullBlock(database);
    if (block === null) return lookEveryMs;
    await storeBlock(database, block);
    return pauseMs;
  },
});
