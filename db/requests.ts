import type { decisionTrace } from '../domain/request/creation.js';
import type { StoredRequest } from '../domain/request/types.js';
import type { Queryable } from './client.js';
import { type ContextColumns, contextColumns } from './request-contexts.js';
import { findState } from './request-state.js';

/** What show adds to a request's state. */
export interface Shown extends ContextColumns {
  reason: string | null;
  shareWith: string[];
  requireApproval: boolean;
  metadata: string;
  idempotencyKey: string | null;
  decisionTrace: ReturnType<typeof decisionTrace>;
}

/** Undefined if the id is not stored. */
export async function findShown(db: Queryable, id: string): Promise<{ request: StoredRequest & Shown; now: number } | undefined> {
  const found = await findState(db, id, shownColumns);
  return found as { request: StoredRequest & Shown; now: number } | undefined;
}

const shownColumns = `r.reason, r.share_with as "shareWith", r.require_approval as "requireApproval", r.metadata, r.idempotency_key as "idempotencyKey", r.decision_trace as "decisionTrace",
  ${contextColumns}`;

/** Agents for the queue hint (AG-78), only those that could claim on the pair. */
export async function listCandidateAgents(
  db: Queryable,
  pair: { database: string; environment: string; operation: string },
): Promise<{ offline: boolean; draining: boolean; saturated: boolean; features: string[] }[]> {
  return db.query(
    `select last_seen_at < clock_timestamp() - interval '60 seconds' as offline, draining, in_flight >= max_concurrent as saturated, features
     from agents
     where scopes @> jsonb_build_array(jsonb_build_object('database', $1::text, 'environment', $2::text))
       and (operations = '{}' or $3::text = any(operations))
     limit 1000`,
    [pair.database, pair.environment, pair.operation],
  );
}

export interface ExecutionRow {
  id: string;
  status: 'running' | 'completed' | 'failed';
  agent_id: string;
  fence: number;
  created_at: number;
  finished_at: number | null;
  error_message: string | null;
  rows_affected: string | null;
  duration_ms: number | null;
  outcome: string | null;
  applied_fence: number | null;
  success: boolean | null;
  result_kept: 'object' | 'empty' | 'relay' | null;
  stored_at: number | null;
  result_expires_at: number | null;
  now: number;
}

/** Newest first. */
export async function listExecutions(db: Queryable, requestId: string, limit: number): Promise<ExecutionRow[]> {
  return db.query<ExecutionRow>(
    `select e.id, e.status, e.agent_id, e.fence, e.created_at, e.finished_at, e.error_message, e.rows_affected::text as rows_affected, e.duration_ms,
       e.outcome, e.applied_fence, e.success, e.result_kept, s.stored_at, s.expires_at as result_expires_at,
       (extract(epoch from clock_timestamp()) * 1000)::bigint as now
     from executions e left join results s on s.execution_id = e.id
     where e.request_id = $1 order by e.fence desc limit $2`,
    [requestId, limit],
  );
}
