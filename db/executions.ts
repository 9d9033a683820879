import type { AgentScopes } from '../domain/caller.js';
import type { Execution } from '../domain/request/types.js';
import type { Change } from '../domain/request/verdict.js';
import type { Queryable } from './client.js';
import type { MoveStatement } from './move-statement.js';
import { at } from './row-types.js';
import { servesPairOf } from './tokens.js';

/** What a claim stores for its agent: the exact bytes of the answer (AG-39) and the terms of its lease. */
export interface NewClaim {
  answer: string;
  leaseSecs: number;
  /** The token that claimed. */
  tokenId: string;
}

/** Part of a claim's one writing statement: the execution row. */
export function claimInsert({ p, request, now }: MoveStatement, execution: Execution, claim: NewClaim): string {
  const columns: Record<string, unknown> = {
    id: execution.id,
    fence: execution.fence,
    agent_id: execution.agentId,
    claim_id: execution.claimId,
    claim_answer: claim.answer,
    token_id: claim.tokenId,
    mutating: execution.mutating,
    marker: execution.marker,
    marker_form: execution.markerForm,
    status: 'running',
    lease_secs: claim.leaseSecs,
    window_secs: execution.windowSecs,
    lease_expires_at: at(execution.leaseExpiresAt),
    created_at: at(now),
  };
  const values = Object.values(columns).map(p.add).join(', ');
  return `claimed as (insert into executions (request_id, ${Object.keys(columns).join(', ')}) values (${request}, ${values}))`;
}

/** Part of a move's one writing statement: the changes to one execution, and the earlier fences that it settles (AG-57, AG-59). */
export function executionUpdate(
  statement: MoveStatement,
  { id, set, end }: NonNullable<Change['execution']>,
  settled: readonly number[],
): string {
  const { p, now } = statement;
  const columns: Record<string, unknown> = { ...set };
  if (end !== null) {
    Object.assign(columns, {
      success: end.success,
      applied_fence: end.appliedFence,
      rows_affected: end.rowsAffected,
      duration_ms: end.durationMs,
      truncated: end.truncated,
      error_message: end.errorMessage,
      result_kept: end.kept,
    });
  }
  const sets = Object.entries(columns).map(([column, value]) => `${column} = ${p.add(value)}`);
  // A late result does not change when the execution was lost.
  if (end !== null) sets.push(`finished_at = coalesce(finished_at, ${p.add(at(now))})`);
  const own = `ended as (update executions set ${sets.join(', ')} where id = ${p.add(id)})`;
  const earlier = settled.length === 0 ? [] : [settledUpdate(statement, settled, id)];
  return [own, ...earlier].join(', ');
}

/** A statement must not update a row twice, so the execution that ends sets its own `unresolved`. */
function settledUpdate({ p, request }: MoveStatement, fences: readonly number[], id: string): string {
  return `settled as (update executions set unresolved = false where request_id = ${request} and fence = any(${p.add(fences)}::int[]) and id <> ${p.add(id)})`;
}

/**
 * Extends the lease of the agent's running execution, never backwards (AG-40), if this token may report on it (`mayReport`). Undefined if
 * the lease or the execution has ended.
 */
export async function extendLease(
  db: Queryable,
  id: string,
  agent: { id: string; tokenId: string; agentScopes: AgentScopes },
): Promise<{ lease_expires_at: number; cancelled: boolean } | undefined> {
  const [row] = await db.query<{ lease_expires_at: number; cancelled: boolean }>(
    `update executions e set lease_expires_at = greatest(e.lease_expires_at, clock_timestamp() + e.lease_secs * interval '1 second')
     from requests r
     where e.id = $1 and e.agent_id = $2 and e.status = 'running' and e.lease_expires_at > clock_timestamp() and r.id = e.request_id and r.fence = e.fence
       and (e.token_id is null or e.token_id = $3 or ${servesPairOf('$4', 'r')})
     returning e.lease_expires_at, r.cancel_requested_at is not null as cancelled`,
    [id, agent.id, agent.tokenId, agent.agentScopes],
  );
  return row;
}

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

/** Running executions whose lease is over, for the sweeper, which judges each under its lock (AG-51). */
export async function listOverdueLeases(db: Queryable, limit: number): Promise<{ id: string; request_id: string }[]> {
  return db.query(
    `select id, request_id from executions where status = 'running' and lease_expires_at <= clock_timestamp() order by lease_expires_at limit $1`,
    [limit],
  );
}

/** Milliseconds until the earliest lease ends; null if nothing runs. */
export async function nextLeaseEndInMs(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ in_ms: number | null }>(
    `select (extract(epoch from min(lease_expires_at) - clock_timestamp()) * 1000)::bigint as in_ms from executions where status = 'running'`,
  );
  return row?.in_ms ?? null;
}
