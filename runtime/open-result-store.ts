import type { Config } from '../config/types.js';
import type { ResultStore } from './result-store.js';
import { openLocalResultStore } from './result-store-local.js';

/** Opens the store of `[result_storage]`. An unreachable store opens too, but is not ready. */
export async function openResultStore({ resultStorage }: Pick<Config, 'resultStorage'>): Promise<ResultStore> {
  if (resultStorage.backend === 'local') return openLocalResultStore(resultStorage.rootDir);
  // Loading the S3 client takes 0.2 s, which other backends need not pay.
  const { openS3ResultStore } = await import('./result-store-s3.js');
  return openS3ResultStore(resultStorage);
}
