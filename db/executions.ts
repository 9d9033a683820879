import type { Queryable, Vouched } from './client.js';
import { type FoundState, readState } from './request-state.js';

/** The execution that a result or heartbeat names, with what its endpoint checks. */
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

/** With its request as a move needs it; undefined if there is no such execution. */
export async function findExecution(
  db: Vouched,
  id: string,
): Promise<{ execution: FoundExecution; found: FoundState<unknown> } | undefined> {
  const tokenId = { sql: '(select to_json(e.token_id) from executions e where e.id = $1)', values: [] };
  const found = await readState<string | null>(db, { execution: id }, tokenId);
  const attempt = found?.request.attempts.find((one) => one.id === id);
  if (found === undefined || attempt === undefined) return undefined;
  const { agentId, fence, submission, mutating } = attempt;
  const { id: requestId, fence: newestFence, operation, database, environment, noResultStore } = found.request;
  const ofRequest = { requestId, newestFence, operation, database, environment, noResultStore };
  return { execution: { id, agentId, tokenId: found.facts, fence, submission, mutating, ...ofRequest }, found };
}

/** Those of the executions that this agent runs and whose cancel was asked for. */
export async function listCancelled(db: Queryable, agentId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select e.id from executions e join requests r on r.id = e.request_id
     where e.id = any($1::uuid[]) and e.agent_id = $2 and e.status = 'running' and r.cancel_requested_at is not null`,
    [ids, agentId],
  );
  return rows.map(({ id }) => id);
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
