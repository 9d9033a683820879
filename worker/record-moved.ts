import type { Moved } from '../db/move.js';
import { aboutRequest } from '../tracing/attributes.js';
import type { Tracing } from '../tracing/tracing.js';

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
