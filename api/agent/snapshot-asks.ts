import type { AgentReport, StaleSchema } from '../../db/agents.js';
import type { Pair } from '../../domain/caller.js';
import { DEFAULT_SNAPSHOT_AGE_SECS, matchWorkflow } from '../../domain/workflow-policy.js';
import type { Generation } from '../context.js';
import { registered } from '../requests/facts.js';

/** How old the snapshot of a pair may become before an agent is asked for the next. */
export interface WantedSchema extends Pair {
  maxAgeSecs: number;
}

/** When this process last asked for the schema of a pair, and which sync was then the last; holds registered pairs only. */
export type SchemaAsks = Map<string, { at: number; syncedAt: string | null }>;

/** An agent that does not send what it was asked for is asked again after this. */
const askAgainMs = 60_000;

/** Asked for from half of the age on at which risk does not trust it any more (SQ-85a), so that it is there before somebody meets a stale one. */
export function wantedSchemas(generation: Generation, report: AgentReport): WantedSchema[] {
  if (!report.features.includes('schema_sync') || report.draining) return [];
  return report.scopes
    .filter((scope) => registered(generation, scope) !== undefined)
    .map(({ database, environment }) => {
      const ages = (['execute_select', 'execute_dml'] as const).map(
        (operation) =>
          matchWorkflow(generation.shared.workflows, { database, environment, operation })?.autoApprove?.maxSnapshotAgeSecs ??
          DEFAULT_SNAPSHOT_AGE_SECS,
      );
      return { database, environment, maxAgeSecs: Math.floor(Math.min(...ages) / 2) };
    });
}

/** Those of the stale pairs that nobody was asked for lately; they count as asked for now. */
export function takeAsks(asks: SchemaAsks, stale: readonly StaleSchema[], now: number): Pair[] {
  return stale.flatMap(({ database, environment, syncedAt }) => {
    const key = `${database}/${environment}`;
    const last = asks.get(key);
    if (last?.syncedAt === syncedAt && now - last.at < askAgainMs) return [];
    asks.set(key, { at: now, syncedAt });
    return [{ database, environment }];
  });
}
