import type { MovedOne } from '../db/move-many.js';
import type { StoredRequest } from '../domain/request/types.js';
import type { Metrics } from './metrics.js';

/** Counts that a request has entered its status (OP-20). */
export function countEntry(
  metrics: Metrics,
  { status, environment, database }: Pick<StoredRequest, 'status' | 'environment' | 'database'>,
): void {
  metrics.requests.inc({ status, environment, database });
}

/** The same for those of a bulk move that have changed their status. */
export function countEntries(metrics: Metrics, moved: readonly MovedOne[]): void {
  for (const { before, after, ...pair } of moved) if (before !== after) countEntry(metrics, { status: after, ...pair });
}
