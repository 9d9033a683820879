import type { ApprovalMacs } from '../crypto/approval-macs.js';
import type { Decision, Execution, StoredRequest } from '../domain/request/types.js';
import type { Queryable, Transaction, Vouched } from './client.js';
import { dispatchEnd } from './migration-pairs.js';
import { brokenPart, keyCheckColumn, requireCurrentKey, type StoredCodes } from './vouching.js';

/** SQL of one JSON value about request `r`, and the values of its parameters, which begin at $2. */
export interface FactsQuery {
  sql: string;
  values: readonly unknown[];
}

/** A request as a move found it, with its facts and Postgres's instant. `rowVersion` changes with every write of its row. */
export interface FoundState<Facts> {
  request: StoredRequest;
  now: number;
  facts: Facts;
  rowVersion: string;
}

type Row = Omit<StoredRequest, 'decisions' | 'execution' | 'finishedExecutions' | 'unresolved' | 'attempts' | 'broken'> & {
  now: number;
  keyCheck: string | null;
  requestMac: string | null;
  stateMac: string | null;
  decisions: (Decision & { id: string; mac: string | null })[];
  executions: Execution[];
};
export type MoveRow = Row & { facts: unknown; rowVersion: string };

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`;

const requestColumns = (
  detail: string,
) => `r.id, r.version, r.status, r.requester, r.requester_role as "requesterRole", r.database, r.environment, r.operation, r.dialect, ${detail} as detail,
  r.emergency, r.passed_by as "passedBy", r.request_mac as "requestMac", r.state_mac as "stateMac", r.no_result_store as "noResultStore", r.max_affected_rows as "maxAffectedRows", r.search_path as "searchPath", r.share_selectors as "shareSelectors", r.workflow as policy, r.policy_revision as "policyRevision",
  r.approval_digest as "approvalDigest", r.current_step as "currentStep", r.fence, r.created_at as "createdAt", r.updated_at as "updatedAt",
  r.expires_at as "expiresAt", r.approved_at as "approvedAt", r.dispatch_by as "dispatchBy", r.dispatched_at as "dispatchedAt",
  ${dispatchEnd} as "dispatchDeadline", r.resolved_at as "resolvedAt", r.claimed_by as "claimedBy", r.cancel_requested_at as "cancelRequestedAt",
  r.cancelled_by as "cancelledBy", r.cancel_reason as "cancelReason", r.cancel_cause as "cancelCause", r.cancelled_while_lost as "cancelledWhileLost", r.lost_reason as "lostReason",
  r.failure_reason as "failureReason"`;

const parts = `coalesce((select jsonb_agg(jsonb_build_object('id', d.id, 'step', d.step, 'userId', d.user_id, 'action', d.action, 'selector', d.selector,
    'comment', d.comment, 'at', ${ms('d.decided_at')}, 'tokenId', d.token_id, 'mac', d.mac) order by d.decided_at, d.step) from decisions d where d.request_id = r.id), '[]') as decisions,
  coalesce((select jsonb_agg(jsonb_build_object('id', e.id, 'fence', e.fence, 'agentId', e.agent_id, 'claimId', e.claim_id, 'mutating', e.mutating,
    'marker', e.marker, 'markerForm', e.marker_form, 'status', e.status, 'lost', e.lost, 'unresolved', e.unresolved, 'claimedAt', ${ms('e.created_at')}, 'leaseExpiresAt', ${ms('e.lease_expires_at')},
    'leaseMs', e.lease_secs::bigint * 1000, 'windowSecs', e.window_secs, 'outcome', e.outcome, 'submission', e.submission) order by e.fence) from executions e where e.request_id = r.id), '[]') as executions`;

const columns = (further: string, detail = 'r.detail') =>
  `${ms("date_trunc('milliseconds', clock_timestamp())")} as now, ${keyCheckColumn}, ${requestColumns(detail)}, ${parts}${further}`;

const texts = (further: string, detail?: string) => `select ${columns(further, detail)} from requests r`;

/** What `foundIn` reads of request `r`, with the facts of this SQL. */
export const foundColumns = (facts: string) => columns(`, r.xmin::text as "rowVersion", ${facts} as facts`);

/** One request with everything that a move is judged on, any extra columns, and Postgres's instant; undefined if the id is not stored. */
export async function findState(
  db: Queryable,
  id: string,
  further?: string,
): Promise<{ request: StoredRequest; now: number } | undefined> {
  const [row] = await db.query<Row>(`${texts(further === undefined ? '' : `, ${further}`)} where r.id = $1`, [id]);
  return row && { request: assemble(row), now: row.now };
}

/** The same without its text, which may be long; `further` are extra columns. */
export async function findOutline(db: Queryable, id: string, further: string): Promise<StoredRequest | undefined> {
  const [row] = await db.query<Row>(`${texts(`, ${further}`, "''")} where r.id = $1`, [id]);
  return row && assemble(row);
}

/** Requests without their texts, in no order. Those that are not stored are left out. */
export async function listOutlines(db: Queryable, ids: readonly string[]): Promise<{ request: StoredRequest; now: number }[]> {
  const rows = await db.query<Row>(`${texts('', "''")} where r.id = any($1::uuid[])`, [ids]);
  return rows.map((row) => ({ request: assemble(row), now: row.now }));
}

/** Locked requests in order of id, each with Postgres's instant of reading it. */
export async function listStates(tx: Transaction, ids: readonly string[]): Promise<{ request: StoredRequest; now: number }[]> {
  const rows = await tx.query<Row>(`${texts('')} where r.id = any($1::uuid[]) order by r.id`, [ids]);
  return rows.map((row) => ({ request: lookedAt(row, tx.macs), now: row.now }));
}

/** A request for a move, by its id or that of an execution, including which part of it was changed outside the gateway; undefined if the id is not stored. */
export async function readState<Facts>(
  db: Vouched,
  by: string | { execution: string },
  facts?: FactsQuery,
): Promise<FoundState<Facts> | undefined> {
  const [id, condition] =
    typeof by === 'string' ? [by, 'r.id = $1'] : [by.execution, 'r.id = (select request_id from executions where id = $1)'];
  const text = `select ${foundColumns(facts?.sql ?? 'null')} from requests r where ${condition}`;
  const [row] = await db.query<MoveRow>(text, [id, ...(facts?.values ?? [])]);
  return row && foundIn<Facts>(row, db.macs);
}

/** A row of `foundColumns`. */
export function foundIn<Facts>({ facts, rowVersion, ...state }: MoveRow, macs: ApprovalMacs): FoundState<Facts> {
  return { request: lookedAt(state, macs), now: state.now, facts: facts as Facts, rowVersion };
}

/**
 * Locks the row, with `lockExecution` also its running execution, then reads them: all that is read, `now` included, is from after any wait for a lock
 * (architecture section 3).
 */
export async function lockState<Facts>(
  tx: Transaction,
  id: string,
  { lockExecution = false, facts }: { lockExecution?: boolean; facts?: FactsQuery },
): Promise<FoundState<Facts> | undefined> {
  // Sent together. Postgres starts each once the one before it holds its lock.
  const locks = [tx.query('select 1 from requests where id = $1 for no key update', [id])];
  if (lockExecution)
    locks.push(tx.query(`select 1 from executions where request_id = $1 and status = 'running' for no key update`, [id]));
  const [found] = await Promise.all([readState<Facts>(tx, id, facts), ...locks]);
  return found;
}

/** A request without its text, with its stored codes. */
export interface CodedRequest {
  request: StoredRequest;
  codes: StoredCodes;
  decisionIds: string[];
  /** How the request passed, by the trace of its creation; rows of older versions record it nowhere else. */
  traced: StoredRequest['passedBy'];
}

/** Locks the next requests by id to write their codes. `withoutCodes` skips those that have codes. */
export async function lockCoded(
  tx: Transaction,
  after: string | null,
  limit: number,
  withoutCodes: boolean,
): Promise<CodedRequest[]> {
  // Locked by a statement of its own: what a statement reads beside the row that it waits for, it reads as of its own start.
  const locked = await tx.query<{ id: string }>(
    `select r.id from requests r where ($1::uuid is null or r.id > $1) and (not $3 or r.request_mac is null) order by r.id limit $2 for no key update`,
    [after, limit, withoutCodes],
  );
  const rows = await tx.query<Row & { traced: StoredRequest['passedBy'] }>(
    `${texts(`, case when r.emergency then 'break_glass' when r.decision_trace #>> '{decision,outcome}' = 'auto_approved' then 'policy' end as traced`, "''")}
     where r.id = any($1::uuid[]) order by r.id`,
    [locked.map(({ id }) => id)],
  );
  return rows.map(({ traced, ...row }) => ({
    request: assemble(row),
    codes: codesIn(row),
    decisionIds: row.decisions.map(({ id }) => id),
    traced,
  }));
}

function lookedAt(row: Row, macs: ApprovalMacs): StoredRequest {
  requireCurrentKey(row.keyCheck, macs);
  const request = assemble(row);
  return { ...request, broken: brokenPart(request, codesIn(row), macs) };
}

const codesIn = (row: Row): StoredCodes => ({
  request: row.requestMac,
  state: row.stateMac,
  decisions: row.decisions.map(({ mac }) => mac),
});

function assemble({ now: _, keyCheck: __, requestMac: ___, stateMac: ____, executions, decisions, ...row }: Row): StoredRequest {
  return {
    ...row,
    decisions: decisions.map(({ id: _, mac: __, ...decision }) => decision),
    broken: null,
    attempts: executions,
    execution: executions.at(-1) ?? null,
    finishedExecutions: executions.filter((execution) => execution.status !== 'running' && !execution.lost).length,
    unresolved: executions
      .filter((execution) => execution.unresolved)
      .map(({ id, fence, agentId, marker, markerForm, claimedAt }) => {
        return { fence, executionId: id, agentId, provable: marker === 'required', markerForm, claimedAt };
      }),
  };
}

/** Locks the request without waiting. False if another transaction holds it or it is not stored. */
export async function tryLockRequest(tx: Transaction, id: string): Promise<boolean> {
  const rows = await tx.query('select 1 from requests where id = $1 for no key update skip locked', [id]);
  return rows.length > 0;
}
