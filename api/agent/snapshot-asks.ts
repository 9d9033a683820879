import type { AgentReport, StaleSnapshot } from '../../db/agents.js';
import type { Pair } from '../../domain/caller.js';
import { DEFAULT_SNAPSHOT_AGE_SECS, matchWorkflow } from '../../domain/workflow-policy.js';
import type { Generation } from '../context.js';
import { registered } from '../requests/pair.js';

/** `maxAgeSecs`: the snapshot's age from which an agent is asked for the next one. */
export interface WantedSnapshot extends Pair {
  maxAgeSecs: number;
}

/** When this process last asked for a pair's snapshot, and the latest sync at that time. Registered pairs only. */
export type SnapshotAsks = Map<string, { at: number; syncedAt: string | null }>;

/** An agent that sends no snapshot is asked again after this. */
const askAgainMs = 60_000;

/**
 * Agents are asked at half the age at which risk stops trusting the snapshot (SQ-85a), so the next one arrives before any reader meets a
 * stale one.
 */
export function wantedSnapshots(generation: Generation, report: AgentReport): WantedSnapshot[] {
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

/** Stale pairs that were not asked for lately. Records them as asked now. */
export function takeAsks(asks: SnapshotAsks, stale: readonly StaleSnapshot[], now: number): Pair[] {
  return stale.flatMap(({ database, environment, syncedAt }) => {
    const key = `${database}/${environment}`;
    const last = asks.get(key);
    if (last?.syncedAt === syncedAt && now - last.at < askAgainMs) return [];
    asks.set(key, { at: now, syncedAt });
    return [{ database, environment }];
  });
}
