import type { Execution } from '../domain/request/types.js';
import type { Change } from '../domain/request/verdict.js';
import type { Queryable, Transaction } from './client.js';
import { at } from './row-types.js';

/** What a claim stores for its agent: the answer byte for byte (AG-39) and the terms of its lease. */
export interface NewClaim {
  answer: string;
  leaseSecs: number;
}

export async function insertClaim(
  tx: Transaction,
  requestId: string,
  execution: Execution,
  claim: NewClaim,
  now: number,
): Promise<void> {
  await tx.query(
    `insert into executions (id, request_id, fence, agent_id, claim_id, claim_answer, mutating, marker, status, lease_secs, window_secs, lease_expires_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'running', $9, $10, $11, $12)`,
    [
      execution.id,
      requestId,
      execution.fence,
      execution.agentId,
      execution.claimId,
      claim.answer,
      execution.mutating,
      execution.marker,
      claim.leaseSecs,
      execution.windowSecs,
      at(execution.leaseExpiresAt),
      at(now),
    ],
  );
}

/** Writes what a result or a lost lease says of one execution; fields that are not named keep their value. */
export async function updateExecution(
  tx: Transaction,
  { id, set, end }: NonNullable<Change['execution']>,
  now: number,
): Promise<void> {
  await tx.query(
    `update executions set status = coalesce($2, status), lost = coalesce($3, lost), unresolved = coalesce($4, unresolved),
       outcome = coalesce($5, outcome), submission = coalesce($6, submission),
       finished_at = case when $7 then coalesce(finished_at, $8) else finished_at end,
       success = case when $7 then $9 else success end, applied_fence = case when $7 then $10 else applied_fence end,
       rows_affected = case when $7 then $11 else rows_affected end, duration_ms = case when $7 then $12 else duration_ms end,
       truncated = case when $7 then $13 else truncated end, error_message = case when $7 then $14 else error_message end,
       result_kept = case when $7 then $15 else result_kept end
     where id = $1`,
    [
      id,
      set.status ?? null,
      set.lost ?? null,
      set.unresolved ?? null,
      set.outcome ?? null,
      set.submission ?? null,
      end !== null,
      at(now),
      end?.success ?? null,
      end?.appliedFence ?? null,
      end?.rowsAffected ?? null,
      end?.durationMs ?? null,
      end?.truncated ?? null,
      end?.errorMessage ?? null,
      end?.kept ?? null,
    ],
  );
}

/** These fences have been settled by later evidence (AG-57, AG-59). */
export async function updateUnresolved(tx: Transaction, requestId: string, fences: readonly number[]): Promise<void> {
  await tx.query('update executions set unresolved = false where request_id = $1 and fence = any($2::int[])', [
    requestId,
    fences,
  ]);
}

/** Extends the lease of a running execution of this agent, never backwards (AG-40); undefined when its lease is over or it has ended. */
export async function extendLease(
  db: Queryable,
  id: string,
  agentId: string,
): Promise<{ lease_expires_at: number; cancelled: boolean } | undefined> {
  const [row] = await db.query<{ lease_expires_at: number; cancelled: boolean }>(
    `update executions e set lease_expires_at = greatest(e.lease_expires_at, clock_timestamp() + e.lease_secs * interval '1 second')
     from requests r
     where e.id = $1 and e.agent_id = $2 and e.status = 'running' and e.lease_expires_at > clock_timestamp() and r.id = e.request_id and r.fence = e.fence
     returning e.lease_expires_at, r.cancel_requested_at is not null as cancelled`,
    [id, agentId],
  );
  return row;
}

/** The execution a result or heartbeat names, with what its endpoint looks at before any lock; undefined when there is none. */
export async function findExecution(db: Queryable, id: string) {
  const [row] = await db.query<FoundExecution>(
    `select e.id, e.request_id as "requestId", e.agent_id as "agentId", e.fence, r.fence as "newestFence", e.status, e.lost, e.submission, e.mutating,
       r.status as "requestStatus", r.operation, r.database, r.environment, r.no_result_store as "noResultStore", e.created_at as "createdAt"
     from executions e join requests r on r.id = e.request_id where e.id = $1`,
    [id],
  );
  return row;
}

export interface FoundExecution {
  id: string;
  requestId: string;
  agentId: string;
  fence: number;
  newestFence: number;
  status: Execution['status'];
  lost: boolean;
  submission: string | null;
  mutating: boolean;
  requestStatus: string;
  operation: string;
  database: string;
  environment: string;
  noResultStore: boolean;
  createdAt: number;
}

/** The stored answer of a claim that is repeated with its `claim_id` (AG-31). */
export async function findClaim(db: Queryable, claimId: string) {
  const [row] = await db.query<{ request_id: string; agent_id: string; status: string; claim_answer: string }>(
    'select request_id, agent_id, status, claim_answer from executions where claim_id = $1',
    [claimId],
  );
  return row;
}

/** Running executions whose lease is over, for the sweeper; the rows are judged one by one under their locks (AG-51). */
export async function listOverdueLeases(db: Queryable, limit: number): Promise<{ id: string; request_id: string }[]> {
  return db.query(
    `select id, request_id from executions where status = 'running' and lease_expires_at <= clock_timestamp() order by lease_expires_at limit $1`,
    [limit],
  );
}

/** Milliseconds until the earliest lease ends, null when nothing runs. */
export async function nextLeaseEndInMs(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ in_ms: number | null }>(
    `select (extract(epoch from min(lease_expires_at) - clock_timestamp()) * 1000)::bigint as in_ms from executions where status = 'running'`,
  );
  return row?.in_ms ?? null;
}
