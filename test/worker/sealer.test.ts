import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { insertAuditEvents } from '../../db/audit.js';
import { draftOf, numbered, openSealing, readChain, type Sealing, writeEvents } from '../support/sealing.js';

let sealing: Sealing;
beforeEach(async () => {
  sealing = await openSealing();
});
afterEach(() => sealing.close());

const namesOf = (events: readonly { resource_id: string | null; event_type: string }[]) =>
  events.filter(({ event_type }) => event_type === 'config.synced').map(({ resource_id }) => resource_id);
const checkpointsOf = (events: readonly { event_type: string; metadata_json: string; seq: number }[]) =>
  events
    .filter(({ event_type }) => event_type === 'audit.signed_checkpoint')
    .map(({ seq, metadata_json }) => [seq, JSON.parse(metadata_json).event_count_since_last_checkpoint]);

describe('sealing (AU-13, AU-31, AU-41, AU-42)', () => {
  it('takes what was there before, in the order in which it was written, 500 at a time', async () => {
    const names = numbered('old', 1234);
    await writeEvents(sealing.database, names);
    const first = await sealing.sealOnce();
    expect(first).toMatchObject({ kind: 'done', sealed: 500, isFull: true });
    expect(await readChain(sealing)).toHaveLength(505);
    await sealing.sealAll();
    const events = await readChain(sealing);
    expect(namesOf(events)).toEqual(names);
    // Two of the events are about the key.
    expect(checkpointsOf(events)).toEqual(Array.from({ length: 12 }, (_, at) => [101 * (at + 1), 100]));
  });

  it('is nothing when nothing was written', async () => {
    await sealing.sealAll();
    const before = await readChain(sealing);
    expect(await sealing.sealOnce()).toMatchObject({ kind: 'done', sealed: 0, checkpoints: [] });
    expect(await readChain(sealing)).toEqual(before);
  });

  it('keeps the order of one transaction, and of transactions that followed each other', async () => {
    const { database } = sealing;
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    // Begun and written first, committed last.
    const slow = database.transaction(async (tx) => {
      await insertAuditEvents(tx, [draftOf('slow')]);
      await held;
    });
    await writeEvents(database, ['a1', 'a2']);
    await writeEvents(database, ['b1', 'b2', 'b3']);
    await sealing.sealAll();
    expect(namesOf(await readChain(sealing))).toEqual(['a1', 'a2', 'b1', 'b2', 'b3']);
    letGo();
    await slow;
    await writeEvents(database, ['c1']);
    await sealing.sealAll();
    expect(namesOf(await readChain(sealing))).toEqual(['a1', 'a2', 'b1', 'b2', 'b3', 'slow', 'c1']);
  });
});
