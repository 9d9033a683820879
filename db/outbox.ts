import type { Signal } from '../domain/request/verdict.js';
import type { View } from '../domain/request/view.js';
import type { Queryable, Transaction } from './client.js';

/** News of one request for its workflow. Without a view it means "read again". */
export interface News {
  id: number;
  version: number;
  signal: Signal;
  actor: string;
  step: number | null;
  view: View | null;
  starts: boolean;
}

/** All waiting news of one request, taken by one publisher; oldest version first. */
export interface TakenNews {
  requestId: string;
  /** For the static summary and search attributes, if this news starts the workflow. */
  about: {
    statementType: string;
    database: string;
    environment: string;
    operation: string;
    risk: string;
    requester: string;
  } | null;
  news: News[];
}

/**
 * Part of a move's one writing statement: inserts news of the request in its part `allowed`, from `$version, …`. It replaces the
 * request's waiting news that nobody has taken, and inherits the duty to start the workflow.
 */
export function outboxInsert(p: {
  version: string;
  signal: string;
  actor: string;
  step: string;
  view: string;
  starts: string;
  lingerMs: string;
}): string {
  return `overtaken as (
    delete from outbox where request_id = (select id from allowed) and lingers and due_at > clock_timestamp() and taken_until is null returning starts
  ), told as (
    insert into outbox (request_id, version, signal, actor, step, view, starts, lingers, due_at)
    select id, ${p.version}::bigint, ${p.signal}::text, ${p.actor}::text, ${p.step}::int, ${p.view}::jsonb,
      ${p.starts}::boolean or exists (select 1 from overtaken where starts), ${p.lingerMs}::int > 0,
      clock_timestamp() + ${p.lingerMs}::int * interval '1 millisecond' from allowed
  )`;
}

/** Part of a bulk move's one statement: stores the rows of the JSON parameter as news that is sent after all other news (OP-72). */
export function yieldingInsert(parameter: string): string {
  return `told as (
    insert into outbox (request_id, version, signal, actor, step, view, starts, lingers, yields, due_at)
    select request_id, version, signal, actor, step, view, false, false, true, clock_timestamp()
    from jsonb_to_recordset(${parameter}::jsonb) as news(request_id uuid, version bigint, signal text, actor text, step int, view jsonb)
  )`;
}

/** News without a view: the workflow reads the stored state again (OP-73). */
export async function insertReadAgain(tx: Transaction, requestIds: readonly string[]): Promise<void> {
  await tx.query(
    `insert into outbox (request_id, version, signal, actor, starts, lingers, due_at)
     select r.id, r.version, 'change', 'system', false, false, clock_timestamp() from requests r where r.id = any($1::uuid[])`,
    [requestIds],
  );
}

/**
 * Takes the news of up to `limit` requests for ten seconds. Skips a request if any of its rows is taken or held back, so its news stays in
 * version order. One taker at a time, because two could split a request's rows between them. The commit need not wait for the disk: if a
 * crash of Postgres loses the take, the news is sent again, which changes nothing. The table is empty most of the time: a plan made then would
 * read all of it.
 */
export async function takeNews(tx: Transaction, limit: number): Promise<TakenNews[]> {
  const [lock] = await tx.query<{ free: boolean }>(
    `select pg_try_advisory_xact_lock(hashtext('svc outbox')) as free, set_config('synchronous_commit', 'off', true),
       set_config('enable_seqscan', 'off', true)`,
  );
  if (!lock?.free) return [];
  const rows = await tx.query<News & { request_id: string; in_ms: number | null; about: TakenNews['about'] }>(takeText, [limit]);
  const byRequest = new Map<string, TakenNews>();
  for (const row of rows) {
    const taken = byRequest.get(row.request_id) ?? { requestId: row.request_id, about: row.about, news: [] };
    taken.news.push({
      id: row.id,
      version: row.version,
      signal: row.signal,
      actor: row.actor,
      step: row.step,
      view: counted(row.view, row.in_ms),
      starts: row.starts,
    });
    byRequest.set(row.request_id, taken);
  }
  return [...byRequest.values()];
}

/** A lookup per request, written so that the planner cannot turn it into a join that scans the whole backlog. */
const isFree = `coalesce((select max(held.taken_until) from outbox held where held.request_id = o.request_id), '-infinity') <= statement_timestamp()`;

/** A request has few rows; with more, a take has room for another request. */
const rowsPerRequest = 4;

const takeText = `with pressing as (
    select request_id, min(due_at) as since from (
      select o.request_id, o.due_at from outbox o where o.due_at <= statement_timestamp() and not o.yields and ${isFree}
      order by o.due_at limit ${rowsPerRequest} * $1) as oldest
    group by request_id order by since limit $1
  ), due as (
    select request_id from pressing
    union
    (select o.request_id from outbox o where o.due_at <= statement_timestamp() and o.yields and ${isFree}
     order by o.due_at, o.id limit greatest(0, $1 - (select count(*) from pressing)))
  ), taken as (
    update outbox o set taken_until = clock_timestamp() + interval '10 seconds', attempts = attempts + 1
    where o.request_id = any(array(select request_id from due))
    returning o.*
  )
  select t.id, t.request_id, t.version, t.signal, t.actor, t.step, t.view, t.starts,
    (extract(epoch from (t.view->'clock'->>'at')::timestamptz - clock_timestamp()) * 1000)::bigint as in_ms,
    case when r.id is null then null else jsonb_build_object('statementType', r.statement_type, 'database', r.database, 'environment', r.environment,
      'operation', r.operation, 'risk', r.risk_level, 'requester', r.requester) end as about
  from taken t left join requests r on r.id = t.request_id order by t.request_id, t.version, t.id`;

function counted(view: View | null, inMs: number | null): View | null {
  return view?.clock && inMs !== null ? { ...view, clock: { ...view.clock, inMs } } : view;
}

/** Call once Temporal has accepted exactly these rows. If a crash of Postgres loses the deletion, they are sent again (see `takeNews`). */
export async function deleteNews(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query(
    `with lazily as materialized (select set_config('synchronous_commit', 'off', true))
     delete from outbox using lazily where id = any($1::bigint[])`,
    [ids],
  );
}

/** Makes news that was taken but not sent due again immediately. */
export async function returnNews(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query('update outbox set taken_until = null where id = any($1::bigint[])', [ids]);
}

/** For news that Temporal refused or could not receive: the request's rows wait longer each time, up to a minute. Other requests are not delayed. */
export async function holdNews(db: Queryable, ids: readonly number[], error: string): Promise<void> {
  await db.query(
    `update outbox set taken_until = null, error = $2,
       due_at = clock_timestamp() + least(60000, 200 * power(2, least(attempts, 9))) * interval '1 millisecond'
     where id = any($1::bigint[])`,
    [ids, error],
  );
}

/** After an outage of Temporal, makes held news due immediately; publishing starts within 5 s of its return. */
export async function releaseHeldNews(db: Queryable): Promise<void> {
  await db.query(`update outbox set due_at = clock_timestamp() where error is not null and due_at > clock_timestamp()`);
}

/** Milliseconds until the earliest news that nobody has taken is due; null if there is none. */
export async function nextNewsInMs(db: Queryable): Promise<number | null> {
  const earliest = (which: string) =>
    `(select due_at from outbox where ${which} and (taken_until is null or taken_until <= statement_timestamp()) order by due_at limit 1)`;
  const [row] = await db.query<{ in_ms: number | null }>(
    `select (extract(epoch from least(${earliest('not yields')}, ${earliest('yields')}) - clock_timestamp()) * 1000)::bigint as in_ms`,
  );
  return row?.in_ms ?? null;
}

/** Requests, deliveries and cards in Slack that Temporal has not been told of; those of a suspension and of a removed webhook do not count (OP-72). */
export const backlogCount = `(select count(distinct request_id) from outbox where not yields)
  + (select count(*) from webhook_deliveries where not told and not yields) + (select count(*) from slack_cards where not told and not yields)`;

export async function countBacklog(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>(`select ${backlogCount} as count`);
  return row?.count ?? 0;
}

export async function countNews(db: Queryable, requestId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*) as count from outbox where request_id = $1', [requestId]);
  return row?.count ?? 0;
}

/** The summary and search attributes of a request's workflow; undefined if the request is not stored. */
export async function findAbout(db: Queryable, id: string): Promise<NonNullable<TakenNews['about']> | undefined> {
  const [row] = await db.query<NonNullable<TakenNews['about']>>(
    `select statement_type as "statementType", database, environment, operation, risk_level as risk, requester from requests where id = $1`,
    [id],
  );
  return row;
}
