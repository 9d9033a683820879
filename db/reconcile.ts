import type { ClockKind } from '../domain/request/view.js';
import type { Queryable, Transaction } from './client.js';
import { dispatchEnd } from './migration-pairs.js';

/** What a round of the reconciler leaves for the next one, on any process (OP-73). */
export interface ReconcilerState {
  /** Requests that this round found overdue and did not move. */
  overdue: string[];
  /** Whether the last round found fewer open workflows than expected. */
  fewer: boolean;
  /** During a rebuild of all workflows: the last request that got its news. */
  rebuiltTo: string | null;
}

const stateName = 'reconciler';
const none: ReconcilerState = { overdue: [], fewer: false, rebuiltTo: null };

/**
 * Begins a round if the last one began at least `everyMs` ago, or by a clock that has gone back since, and no other process runs one; otherwise
 * undefined. The round lasts until the transaction ends.
 */
export async function beginRound(tx: Transaction, everyMs: number): Promise<ReconcilerState | undefined> {
  const [lock] = await tx.query<{ free: boolean }>(`select pg_try_advisory_xact_lock(hashtext('svc reconciler')) as free`);
  if (!lock?.free) return undefined;
  const [row] = await tx.query<{ content: ReconcilerState; due: boolean }>(
    `select content, updated_at not between clock_timestamp() - every and clock_timestamp() + every as due
     from background_state, make_interval(secs => $2::int / 1000.0) as every where name = $1`,
    [stateName, everyMs],
  );
  if (row === undefined) return none;
  return row.due ? row.content : undefined;
}

export async function saveRound(tx: Transaction, state: ReconcilerState): Promise<void> {
  await tx.query(
    `insert into background_state (name, content, updated_at) values ($1, $2, clock_timestamp())
     on conflict (name) do update set content = excluded.content, updated_at = excluded.updated_at`,
    [stateName, JSON.stringify(state)],
  );
}

/** The next round goes on behind request `to`; with null it begins anew if workflows are still missing. */
export async function returnToRebuild(db: Queryable, to: string | null): Promise<void> {
  await db.query(
    `update background_state set content = content || jsonb_build_object('rebuiltTo', $2::text, 'fewer', $2::text is null) where name = $1`,
    [stateName, to],
  );
}

export interface OverdueRequest {
  id: string;
  clock: ClockKind;
  /** News of the request waits for Temporal. */
  waiting: boolean;
}

/** Requests whose deadline passed more than `graceMs` ago, longest first. */
export async function listOverdue(db: Queryable, graceMs: number, limit: number): Promise<OverdueRequest[]> {
  return db.query<OverdueRequest>(
    `with clocks as (
       select id, 'pending' as clock, expires_at as over_at from requests where status = 'pending'
       union all select id, 'approved', dispatch_by from requests where status = 'approved'
       union all select id, 'dispatch', ${dispatchEnd} from requests r
         where status = 'dispatched' and dispatch_deadline <= clock_timestamp() - $1::int * interval '1 millisecond'
       union all select r.id, 'lease', e.lease_expires_at from executions e join requests r on r.id = e.request_id and r.fence = e.fence
         where e.status = 'running' and r.status = 'running'
     )
     select id, clock, exists (select 1 from outbox o where o.request_id = clocks.id) as waiting from clocks
     where over_at <= clock_timestamp() - $1::int * interval '1 millisecond' order by over_at limit $2`,
    [graceMs, limit],
  );
}

/** Requests that must have an open workflow: not final, unchanged for a while, and without waiting news. */
export async function countFollowed(db: Queryable, quietMs: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `select count(*) as count from requests r where ${notFinal} and updated_at <= clock_timestamp() - $1::int * interval '1 millisecond'
       and not exists (select 1 from outbox o where o.request_id = r.id)`,
    [quietMs],
  );
  return row?.count ?? 0;
}

/** The next requests after `afterId` without a final status, ordered by id. */
export async function listNotFinal(db: Queryable, afterId: string | null, limit: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from requests r where ${notFinal} and ($1::uuid is null or id > $1) order by id limit $2`,
    [afterId, limit],
  );
  return rows.map(({ id }) => id);
}

/** Those of the requests that have no final status and no waiting news, so that nothing else would start their workflow. */
export async function listWithoutWorkflow(db: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from requests r where id = any($1::uuid[]) and ${notFinal} and not exists (select 1 from outbox o where o.request_id = r.id)`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

const notFinal = `status in ('pending', 'approved', 'dispatched', 'running')`;
