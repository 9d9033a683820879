import type { Queryable } from './client.js';

/** The execution of a result or heartbeat, with what its endpoint checks before any lock; undefined if it does not exist. */
export async function findExecution(db: Queryable, id: string) {
  const [row] = await db.query<FoundExecution>(
    `select e.id, e.request_id as "requestId", e.agent_id as "agentId", e.token_id as "tokenId", e.fence, r.fence as "newestFence", e.submission, e.mutating,
       r.operation, r.database, r.environment, r.no_result_store as "noResultStore"
     from executions e join requests r on r.id = e.request_id where e.id = $1`,
    [id],
  );
  return row;
}

export interface FoundExecution {
  id: string;
  requestId: string;
  agentId: string;
  /** The token that claimed; null for executions older than the column. */
  tokenId: string | null;
  fence: number;
  newestFence: number;
  submission: string | null;
  mutating: boolean;
  operation: string;
  database: string;
  environment: string;
  noResultStore: boolean;
}

/** Every attempt of a request, including the current one. */
export async function listAttempts(db: Queryable, requestId: string): Promise<{ fence: number; id: string }[]> {
  return db.query('select fence, id from executions where request_id = $1', [requestId]);
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
