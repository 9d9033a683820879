import { expect, it } from 'vitest';
import { exportPages, readExportSpan } from '../../db/audit-export.js';
import { sealedBatches } from '../../db/audit-walk.js';
import { inSnapshot } from '../../db/snapshot.js';
import type { SealedEvent } from '../../domain/audit/event.js';
import { numbered, openSealing, writeEvents } from '../support/sealing.js';

/** Reads all and keeps the arrays, as an old result that leads to later ones does. */
async function readAll(batches: AsyncIterable<SealedEvent[]>) {
  const kept: SealedEvent[][] = [];
  const seqs: number[] = [];
  for await (const events of batches) {
    kept.push(events);
    seqs.push(...events.map(({ seq }) => seq));
  }
  return { seqs, batches: kept.length, eventsLeft: kept.flat().length };
}

it('whoever walks through the log has every event in order, and holds one batch (AU-70, AU-62)', async () => {
  const sealing = await openSealing();
  try {
    await writeEvents(sealing.database, numbered('e', 700));
    await sealing.sealAll();
    const all = Array.from({ length: 709 }, (_, at) => at + 1);
    const walked = await inSnapshot(sealing.database.pool, 10_000, (snapshot) => readAll(sealedBatches(snapshot)));
    expect(walked).toEqual({ seqs: all, batches: expect.any(Number), eventsLeft: 0 });
    expect(walked.batches).toBeGreaterThan(1);
    const roles = [{ name: 'r', permissions: [], databases: ['*'], environments: ['*'] }];
    const span = await readExportSpan(sealing.database);
    const exported = await readAll(exportPages(sealing.database, span, { roles, filters: {} }));
    expect(exported).toEqual({ seqs: all, batches: 3, eventsLeft: 0 });
  } finally {
    await sealing.close();
  }
});
