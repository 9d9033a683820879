import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasUnsealed } from '../../db/audit-seal.js';
import type { Transaction } from '../../db/client.js';
import { sealBatch } from '../../worker/seal-batch.js';
import { openSealing, plainLog, readChain, type Sealing } from '../support/sealing.js';

let sealing: Sealing;
beforeEach(async () => {
  sealing = await openSealing();
  await sealing.tamper(
    'alter table audit_events set (autovacuum_enabled = off)',
    `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type)
     select gen_random_uuid(), 'config.synced', 'policy', 'success', 'system', 'system' from generate_series(1, 6000)`,
  );
});
afterEach(() => sealing.close());

/** Rows of events that PostgreSQL has read for `work`. */
async function readBy(work: (tx: Transaction) => Promise<unknown>): Promise<number> {
  return sealing.database.transaction(async (tx) => {
    const read = async () => {
      const [row] = await tx.query<{ count: number }>(
        `select seq_tup_read + coalesce(idx_tup_fetch, 0) as count from pg_stat_xact_user_tables where relname = 'audit_events'`,
      );
      return row!.count;
    };
    const before = await read();
    await work(tx);
    return (await read()) - before;
  });
}

// The first test needs a log that waits, and the second one seals it.
describe('what sealing reads', { shuffle: false }, () => {
  it('is its batch, in a log of which PostgreSQL does not know that it waits', async () => {
    const read = await readBy(async (tx) =>
      expect(await sealBatch(tx, sealing.keys, plainLog)).toMatchObject({ kind: 'done', sealed: 500 }),
    );
    expect(read).toBeGreaterThan(500);
    expect(read).toBeLessThan(3000);
  });

  it('is nothing of a log that is sealed, whatever PostgreSQL takes it for', async () => {
    await sealing.tamper('analyze audit_events');
    await sealing.sealAll();
    // The first look marks what it found dead in the index.
    expect(await hasUnsealed(sealing.database)).toBe(false);
    const read = await readBy(async (tx) => expect(await hasUnsealed(tx)).toBe(false));
    expect(read).toBeLessThan(100);
    await readChain(sealing);
  });
});
