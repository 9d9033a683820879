import type { Moved } from '../../db/move.js';
import type { MovedOne } from '../../db/move-many.js';
import { GatewayError } from '../../domain/errors.js';
import type { StoredRequest } from '../../domain/request/types.js';
import type { Metrics } from '../../runtime/metrics.js';

/** Counts a new request's entry into its first status (OP-20). */
export function countCreated(metrics: Metrics, request: StoredRequest): void {
  countEntry(metrics, request);
  if (request.emergency) metrics.breakGlass.inc();
}

/** Counts a creation with `allow_ddl` and its outcome. An internal error counts as neither allowed nor denied. */
export async function countBreakGlassDdl<T>({ breakGlassDdl }: Metrics, accept: () => Promise<T>): Promise<T> {
  breakGlassDdl.attempted.inc();
  try {
    const accepted = await accept();
    breakGlassDdl.allowed.inc();
    return accepted;
  } catch (error) {
    if (error instanceof GatewayError && error.code !== 'service.unavailable') breakGlassDdl.denied.inc();
    throw error;
  }
}

/** Call only after the commit. */
export function countMoved(metrics: Metrics, { before, after, changed }: Moved): void {
  if (!changed) return;
  if (before.status !== after.status) countEntry(metrics, after);
  if (after.decisions.length > before.decisions.length) metrics.approvals.inc({ action: after.decisions.at(-1)!.action });
  if (before.status === 'pending' && after.status === 'approved')
    metrics.approvalWait.observe((after.updatedAt - after.createdAt) / 1000);
}

export function countMovedMany(metrics: Metrics, moved: readonly MovedOne[]): void {
  for (const { before, after, ...pair } of moved) if (before !== after) countEntry(metrics, { status: after, ...pair });
}

function countEntry(
  metrics: Metrics,
  { status, environment, database }: Pick<StoredRequest, 'status' | 'environment' | 'database'>,
): void {
  metrics.requests.inc({ status, environment, database });
}
