import type { Moved } from '../../db/move.js';
import { GatewayError } from '../../domain/errors.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { countEntry } from '../../runtime/entry-metrics.js';
import type { Metrics } from '../../runtime/metrics.js';
import { aboutRequest } from '../../tracing/attributes.js';
import { claimSpanId } from '../../tracing/ids.js';
import type { Tracing } from '../../tracing/tracing.js';
import { noteTouched } from '../http/call-spans.js';

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

/** Records a claim by itself, since a poll makes several after a long wait; any other move is part of its call. Call only after the commit. */
export function traceMoved(tracing: Tracing, { after, changed, claim }: Moved, startedAt: number): void {
  if (!tracing.isOn || !changed) return;
  if (claim !== null && after.execution !== null) recordClaim(tracing, after, after.execution.id, startedAt);
  else noteTouched(tracing, after, false);
}

function recordClaim(tracing: Tracing, request: StoredRequest, executionId: string, startedAt: number): void {
  tracing.record({
    requestId: request.id,
    name: 'claim',
    kind: 'internal',
    id: claimSpanId(executionId),
    startedAt,
    endedAt: performance.now(),
    attributes: { ...aboutRequest(request), 'svc.execution_id': executionId, 'svc.fence': request.fence },
  });
}
