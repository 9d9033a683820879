import type { Config } from '../config/types.js';
import type { ResultStore } from './result-store.js';
import { openLocalResultStore } from './result-store-local.js';

/** The store that `[result_storage]` names; one that cannot be reached yet opens all the same and is not ready. */
export async function openResultStore({ resultStorage }: Pick<Config, 'resultStorage'>): Promise<ResultStore> {
  if (resultStorage.backend === 'local') return openLocalResultStore(resultStorage.rootDir);
  // Its client takes 0.2 s to load, which no other backend pays.
  const { openS3ResultStore } = await import('./result-store-s3.js');
  return openS3ResultStore(resultStorage);
}
