import type { Queryable } from './client.js';
import { backlogCount } from './outbox.js';

/** Gauges with the same value on all processes (marked S in OP-20). */
export interface SharedGauges {
  pending: number;
  approved: number;
  dispatched: number;
  running: number;
  agentsActive: number;
  agentsSaturated: number;
  auditUnsealed: number;
  auditAnchorsWaiting: number;
  workflowBacklog: number;
  mcpSessions: number;
  mcpStreams: number;
  activeUsers: number;
  /** Distinct names of registered databases (OP-40). */
  databases: number;
}

/** One statement per scrape; every part of it uses an index. */
export async function readSharedGauges(db: Queryable, mcpTtlSecs: number): Promise<SharedGauges> {
  const [row] = await db.query<SharedGauges>(
    `with open as (
       select status, count(*) as held from requests where status in ('pending', 'approved', 'dispatched', 'running') group by status
     ), active as (
       select count(*) as all, count(*) filter (where in_flight >= max_concurrent) as full
       from agents where last_seen_at > clock_timestamp() - interval '60 seconds' and not draining
     )
     select coalesce((select held from open where status = 'pending'), 0) as pending,
       coalesce((select held from open where status = 'approved'), 0) as approved,
       coalesce((select held from open where status = 'dispatched'), 0) as dispatched,
       coalesce((select held from open where status = 'running'), 0) as running,
       active.all as "agentsActive", active.full as "agentsSaturated",
       (select count(*) from audit_events where seq is null) as "auditUnsealed",
       (select count(*) from audit_anchors where state = 'waiting') as "auditAnchorsWaiting",
       ${backlogCount} as "workflowBacklog",
       (select count(*) from mcp_sessions where last_used_at > clock_timestamp() - $1::int * interval '1 second') as "mcpSessions",
       (select count(*) from mcp_calls where ended_at is null and streams) as "mcpStreams",
       (select count(*) from users where status = 'active') as "activeUsers",
       (select count(distinct entry ->> 'name')
        from (select content from config_generations order by number desc limit 1) newest, jsonb_array_elements(content -> 'databases') entry) as databases
     from active`,
    [mcpTtlSecs],
  );
  if (row === undefined) throw new Error('select without a row');
  return row;
}
