import type { Decision, Execution, StoredRequest } from '../domain/request/types.js';
import type { Queryable, Transaction } from './client.js';
import { dispatchEnd } from './migration-pairs.js';

type Row = Omit<StoredRequest, 'decisions' | 'execution' | 'finishedExecutions' | 'unresolved'> & {
  now: number;
  decisions: Decision[];
  executions: (Execution & { finished: boolean })[];
};

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`;

const stateColumns = `r.id, r.version, r.status, r.requester, r.requester_role as "requesterRole", r.database, r.environment, r.operation, r.dialect, r.detail,
  r.emergency, r.no_result_store as "noResultStore", r.max_affected_rows as "maxAffectedRows", r.share_selectors as "shareSelectors", r.workflow, r.policy_revision as "policyRevision",
  r.approval_digest as "approvalDigest", r.current_step as "currentStep", r.fence, r.created_at as "createdAt", r.updated_at as "updatedAt",
  r.expires_at as "expiresAt", r.approved_at as "approvedAt", r.dispatch_by as "dispatchBy", r.dispatched_at as "dispatchedAt",
  ${dispatchEnd} as "dispatchDeadline", r.resolved_at as "resolvedAt", r.claimed_by as "claimedBy", r.cancel_requested_at as "cancelRequestedAt",
  r.cancelled_by as "cancelledBy", r.cancel_reason as "cancelReason", r.cancel_cause as "cancelCause", r.cancelled_while_lost as "cancelledWhileLost", r.lost_reason as "lostReason",
  r.failure_reason as "failureReason"`;

const parts = `coalesce((select jsonb_agg(jsonb_build_object('step', d.step, 'userId', d.user_id, 'action', d.action, 'selector', d.selector,
    'comment', d.comment, 'at', ${ms('d.decided_at')}, 'tokenId', d.token_id) order by d.decided_at, d.step) from decisions d where d.request_id = r.id), '[]') as decisions,
  coalesce((select jsonb_agg(jsonb_build_object('id', e.id, 'fence', e.fence, 'agentId', e.agent_id, 'claimId', e.claim_id, 'mutating', e.mutating,
    'marker', e.marker, 'status', e.status, 'lost', e.lost, 'unresolved', e.unresolved, 'leaseExpiresAt', ${ms('e.lease_expires_at')},
    'windowSecs', e.window_secs, 'outcome', e.outcome, 'submission', e.submission) order by e.fence) from executions e where e.request_id = r.id), '[]') as executions`;

/** One request with everything a move is judged on (and further columns of it), and Postgres's instant; undefined when the id is not stored. */
export async function findState(
  db: Queryable,
  id: string,
  further?: string,
): Promise<{ request: StoredRequest; now: number } | undefined> {
  const [row] = await db.query<Row>(
    `select ${ms("date_trunc('milliseconds', clock_timestamp())")} as now, ${stateColumns}, ${parts}${further === undefined ? '' : `, ${further}`} from requests r where r.id = $1`,
    [id],
  );
  return row && { request: assemble(row), now: row.now };
}

/** Many requests by id, each with Postgres's instant of its reading. */
export async function listStates(db: Queryable, ids: readonly string[]): Promise<{ request: StoredRequest; now: number }[]> {
  const rows = await db.query<Row>(
    `select ${ms("date_trunc('milliseconds', clock_timestamp())")} as now, ${stateColumns}, ${parts} from requests r where r.id = any($1::uuid[]) order by r.id`,
    [ids],
  );
  return rows.map((row) => ({ request: assemble(row), now: row.now }));
}

/** Locks what a user has open, in the order of ids (architecture section 3); `bytes` is the length of each text. */
export function lockOpenOf(tx: Transaction, owner: string): Promise<{ id: string; bytes: number }[]> {
  return tx.query(
    `select id, octet_length(detail) as bytes from requests
     where requester = $1 and status in ('pending', 'approved', 'dispatched', 'running', 'execution_lost') order by id for no key update`,
    [owner],
  );
}

/** Locks the row, then reads it: `now` is taken after any wait for the lock (architecture section 3). */
export async function lockState(tx: Transaction, id: string): Promise<{ request: StoredRequest; now: number } | undefined> {
  // Sent together; Postgres begins the second one when the lock is held.
  const [, found] = await Promise.all([
    tx.query('select 1 from requests where id = $1 for no key update', [id]),
    findState(tx, id),
  ]);
  return found;
}

/** Locks the running execution of a locked request, so that no heartbeat can extend a lease that is being judged. */
export async function lockRunningExecution(tx: Transaction, requestId: string): Promise<void> {
  await tx.query(`select 1 from executions where request_id = $1 and status = 'running' for no key update`, [requestId]);
}

function assemble({ now: _, executions, ...row }: Row): StoredRequest {
  return {
    ...row,
    execution: executions.at(-1) ?? null,
    finishedExecutions: executions.filter((execution) => execution.status !== 'running' && !execution.lost).length,
    unresolved: executions
      .filter((execution) => execution.unresolved)
      .map((execution) => ({ fence: execution.fence, provable: execution.marker === 'required' })),
  };
}
