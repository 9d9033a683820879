import type { Moved } from '../db/move.js';
import type { Metrics } from '../runtime/metrics.js';

/** Counts moves by clocks and leases only. The server that answers a call counts the call's moves (OP-20). */
export function countMoves(metrics: Metrics): (moved: Moved) => void {
  return ({ before, after }) => {
    if (before.status === after.status) return;
    const { status, environment, database } = after;
    metrics.requests.inc({ status, environment, database });
    if (before.status === 'running') {
      metrics.leaseExpirations.inc();
      metrics.executions.inc({ status: 'lost' });
    }
  };
}
