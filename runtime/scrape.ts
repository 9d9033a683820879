import type { Database } from '../db/client.js';
import { readSharedGauges } from '../db/gauges.js';
import type { Metrics } from './metrics.js';

/** The text of `/metrics` (OP-20), with the shared gauges and the pool as they are now. */
export async function scrape(metrics: Metrics, database: Database): Promise<{ contentType: string; text: string }> {
  const shared = await readSharedGauges(database);
  for (const status of ['pending', 'approved', 'dispatched', 'running'] as const)
    metrics.requestsCurrent.set({ status }, shared[status]);
  metrics.agentsActive.set(shared.agentsActive);
  metrics.agentsSaturated.set(shared.agentsSaturated);
  metrics.auditUnsealed.set(shared.auditUnsealed);
  metrics.workflowBacklog.set(shared.workflowBacklog);
  const { totalCount, idleCount, waitingCount } = database.pool;
  metrics.dbPool.set({ state: 'idle' }, idleCount);
  metrics.dbPool.set({ state: 'used' }, totalCount - idleCount);
  metrics.dbPool.set({ state: 'waiting' }, waitingCount);
  return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() };
}
