import type { Moved } from '../db/move.js';
import { countEntry } from '../runtime/entry-metrics.js';
import type { Metrics } from '../runtime/metrics.js';
import { aboutRequest } from '../tracing/attributes.js';
import type { Tracing } from '../tracing/tracing.js';

/** Counts moves by clocks and leases only. The server that answers a call counts the call's moves (OP-20). */
export function countMoves(metrics: Metrics): (moved: Moved) => void {
  return ({ before, after }) => {
    if (before.status === after.status) return;
    countEntry(metrics, after);
    if (before.status === 'running') {
      metrics.leaseExpirations.inc();
      metrics.executions.inc({ status: 'lost' });
    }
  };
}

/** A move that no call and no workflow made: a lease that ran out, or a clock that its workflow missed. Call only after the commit. */
export function recordMoved(tracing: Tracing, { before, after }: Moved): void {
  const endedAt = performance.now();
  tracing.record({
    requestId: after.id,
    name: before.status === 'running' ? 'lease ended' : 'clock',
    kind: 'internal',
    startedAt: endedAt,
    endedAt,
    attributes: aboutRequest(after),
  });
}
