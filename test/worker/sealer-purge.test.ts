import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SealedEvent } from '../../domain/audit/event.js';
import { purgeText } from '../../domain/audit/signed-texts.js';
import { numbered, openSealing, readChain, type Sealing, writeEvents } from '../support/sealing.js';

let sealing: Sealing;
beforeEach(async () => {
  sealing = await openSealing();
});
afterEach(() => sealing.close());

const isCheckpoint = ({ event_type }: SealedEvent) => event_type === 'audit.signed_checkpoint';

/** Removes all events up to this one, as a purge does. */
async function purge({ seq, event_hash }: SealedEvent): Promise<void> {
  const { signer } = await sealing.keys(sealing.database);
  const statement = { lastPurgedHash: event_hash, purgedBefore: '2031-04-05T06:07:08.123456Z', retainedCount: 0 };
  await sealing.database.transaction(async (tx) => {
    await tx.query(
      `insert into audit_purges (last_purged_seq, last_purged_hash, purged_before, retained_count, key_id, signature) values ($1, $2, $3, 0, $4, $5)`,
      [seq, event_hash, statement.purgedBefore, signer!.keyId, signer!.sign(Buffer.from(purgeText(statement)))],
    );
    await tx.query('delete from audit_events where seq <= $1', [seq]);
  });
}

describe('sealing after a purge', () => {
  it('goes on with number, hash, count and tree where it was', async () => {
    await writeEvents(sealing.database, numbered('one', 700));
    await sealing.sealAll();
    const before = await readChain(sealing);
    const last = before.filter(isCheckpoint).at(3)!;
    await purge(last);
    await writeEvents(sealing.database, numbered('two', 700));
    await sealing.sealAll();
    const all = await readChain(sealing, before.slice(0, last.seq));
    expect(all.filter(({ event_type }) => event_type === 'config.synced')).toHaveLength(1400);
  });

  it('counts from a purged checkpoint when no other is left', async () => {
    await writeEvents(sealing.database, numbered('one', 140));
    await sealing.sealAll();
    const before = await readChain(sealing);
    const last = before.find(isCheckpoint)!;
    await purge(last);
    await writeEvents(sealing.database, numbered('two', 70));
    await sealing.sealAll();
    const all = await readChain(sealing, before.slice(0, last.seq));
    expect(all.filter(isCheckpoint).map(({ seq }) => seq)).toEqual([last.seq, last.seq + 101]);
  });

  it('goes on when nothing sealed is left, if a signed purge has removed the event of the head', async () => {
    await writeEvents(sealing.database, numbered('one', 98));
    await sealing.sealAll();
    const before = await readChain(sealing);
    expect(isCheckpoint(before.at(-1)!)).toBe(true);
    await purge(before.at(-1)!);
    await sealing.tamper(`update audit_purges set retained_count = 1`);
    await writeEvents(sealing.database, ['after']);
    expect(await sealing.sealOnce()).toMatchObject({ kind: 'stopped', reason: expect.stringContaining('head_mismatch') });
    await sealing.tamper(`update audit_purges set retained_count = 0`);
    await sealing.sealAll();
    expect((await readChain(sealing, before)).at(-1)).toMatchObject({ seq: 102, resource_id: 'after' });
  });
});
