import { sealBatch } from '../../worker/seal-batch.js';
import type { TestApi } from './api.js';

/** Seals all events of a server that no worker serves. */
export async function sealAll({ services }: Pick<TestApi, 'services'>): Promise<void> {
  for (;;) {
    const outcome = await services.database.transaction((tx) => sealBatch(tx, services.auditKeys));
    if (outcome.kind === 'stopped') throw new Error(outcome.reason);
    if (outcome.kind === 'done' && !outcome.isFull) return;
  }
}
