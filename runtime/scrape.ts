import type { Config } from '../config/types.js';
import type { Database } from '../db/client.js';
import { readSharedGauges, type SharedGauges } from '../db/gauges.js';
import { licenseOf, planLimits } from './license-limits.js';
import type { Metrics } from './metrics.js';

/** The text of `/metrics` (OP-20), with the current shared gauges and pool. */
export async function scrape(
  metrics: Metrics,
  database: Database,
  config: Config,
): Promise<{ contentType: string; text: string }> {
  const shared = await readSharedGauges(database, config.mcp.sessionTtlSecs);
  for (const status of ['pending', 'approved', 'dispatched', 'running'] as const)
    metrics.requestsCurrent.set({ status }, shared[status]);
  metrics.agentsActive.set(shared.agentsActive);
  metrics.agentsSaturated.set(shared.agentsSaturated);
  metrics.auditUnsealed.set(shared.auditUnsealed);
  metrics.auditAnchorsWaiting.set(shared.auditAnchorsWaiting);
  metrics.workflowBacklog.set(shared.workflowBacklog);
  metrics.mcpSessionsActive.set(shared.mcpSessions);
  metrics.mcpStreamsActive.set(shared.mcpStreams);
  showPlan(metrics, config, shared);
  const { totalCount, idleCount, waitingCount } = database.pool;
  metrics.dbPool.set({ state: 'idle' }, idleCount);
  metrics.dbPool.set({ state: 'used' }, totalCount - idleCount);
  metrics.dbPool.set({ state: 'waiting' }, waitingCount);
  return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() };
}

/** OP-40, OP-45: the limits of the plan in force (-1 = no limit), and what is used of them. */
function showPlan({ planLimit, planUsage, licenseExpires }: Metrics, config: Config, used: SharedGauges): void {
  const { maxUsers, maxDatabases } = planLimits(config, Date.now());
  planLimit.set({ resource: 'users' }, maxUsers ?? -1);
  planLimit.set({ resource: 'databases' }, maxDatabases ?? -1);
  planUsage.set({ resource: 'users' }, used.activeUsers);
  planUsage.set({ resource: 'databases' }, used.databases);
  licenseExpires.set((licenseOf(config)?.expiresAt ?? 0) / 1000);
}
