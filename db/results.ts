import type { Queryable, Transaction } from './client.js';
import type { MoveStatement } from './move-statement.js';
import { at } from './row-types.js';

export interface StoredResult {
  executionId: string;
  requestId: string;
  place: ResultPlace;
  length: number;
  sha256: string;
  validJson: boolean;
  retentionDays: number;
}

/** Where the data is (RS-63): an object in the store, or bytes in the row. */
export type ResultPlace = { backend: string; key: string } | { data: Uint8Array };

/** Records a result, with its data if that is small; call in the transaction that ends its run (RS-47, RS-48). */
export function insertResult(tx: Transaction, result: StoredResult, now: number): void {
  const { place } = result;
  const [backend, key, data] = 'data' in place ? ['database', null, place.data] : [place.backend, place.key, null];
  tx.send(
    `insert into results (execution_id, request_id, backend, object_key, data, content_length, sha256, valid_json, stored_at, retention_days, expires_at,
       requester, database, environment, share_selectors)
     select $1, r.id, $3, $4, $5, $6, $7, $8, $9, $10, $11, r.requester, r.database, r.environment, r.share_selectors from requests r where r.id = $2`,
    [
      result.executionId,
      result.requestId,
      backend,
      key,
      data,
      result.length,
      result.sha256,
      result.validJson,
      at(now),
      result.retentionDays,
      at(now + result.retentionDays * 86_400_000),
    ],
  );
}

/** Relays an answer that is not stored, for readers that come soon. Above `maxSlots` the oldest is dropped (RS-45, RS-46). */
export function insertRelay(
  tx: Transaction,
  relay: { executionId: string; requestId: string; envelope: Uint8Array; expiresAt: number },
  maxSlots: number,
): void {
  tx.send(
    `with full_up as (
       delete from result_relay where execution_id in (select execution_id from result_relay order by expires_at desc offset $5)
     )
     insert into result_relay (execution_id, request_id, envelope, expires_at) values ($1, $2, $3, $4) on conflict (execution_id) do nothing`,
    [relay.executionId, relay.requestId, relay.envelope, at(relay.expiresAt), maxSlots - 1],
  );
}

/** Part of a move: a new run drops what the relay held of the request (RS-45). */
export function relayDelete({ request, before, after }: MoveStatement): string[] {
  if (before.execution === null || after.status !== 'dispatched') return [];
  return [`unrelayed as (delete from result_relay where request_id = ${request})`];
}

/** The length of a relayed answer, and the answer itself if it has at most `wholeUpTo` bytes. */
export async function findRelay(
  db: Queryable,
  executionId: string,
  wholeUpTo: number,
): Promise<{ bytes: number; envelope: Uint8Array | null } | undefined> {
  const [row] = await db.query<{ bytes: number; envelope: Uint8Array | null }>(
    `select octet_length(envelope) as bytes, case when octet_length(envelope) <= $2 then envelope end as envelope
     from result_relay where execution_id = $1 and expires_at > clock_timestamp()`,
    [executionId, wholeUpTo],
  );
  return row;
}

/** At most `count` bytes starting at byte `from`, counted from 0; undefined if the answer is gone. */
export async function readRelay(
  db: Queryable,
  executionId: string,
  from: number,
  count: number,
): Promise<Uint8Array | undefined> {
  const [row] = await db.query<{ piece: Uint8Array }>(
    'select substring(envelope from $2::int + 1 for $3::int) as piece from result_relay where execution_id = $1',
    [executionId, from, count],
  );
  return row?.piece;
}

/** A running or finished execution with the record of its result, and its data where that is in the row. */
export interface ExecutionResult {
  id: string;
  finished_at: number | null;
  success: boolean | null;
  error_message: string | null;
  rows_affected: string | null;
  truncated: boolean | null;
  result_kept: 'object' | 'empty' | 'relay' | null;
  backend: string | null;
  object_key: string | null;
  /** Of a small result; null if the data is an object. */
  data: Uint8Array | null;
  content_length: number | null;
  sha256: string | null;
  valid_json: boolean | null;
  stored_at: number | null;
  result_expires_at: number | null;
  now: number;
}

/** The named execution of a request, or its newest one; undefined if there is none. */
export async function findExecutionResult(
  db: Queryable,
  requestId: string,
  executionId: string | null,
): Promise<ExecutionResult | undefined> {
  // Two texts, because Postgres would plan one text with `$2 is null or …` anew each time.
  const [row] = await db.query<ExecutionResult>(
    `select e.id, e.finished_at, e.success, e.error_message, e.rows_affected::text as rows_affected, e.truncated, e.result_kept,
       s.backend, s.object_key, s.data, s.content_length, s.sha256, s.valid_json, s.stored_at, s.expires_at as result_expires_at,
       (extract(epoch from clock_timestamp()) * 1000)::bigint as now
     from executions e left join results s on s.execution_id = e.id
     where e.request_id = $1 ${executionId === null ? '' : 'and e.id = $2'} order by e.fence desc limit 1`,
    executionId === null ? [requestId] : [requestId, executionId],
  );
  return row;
}

/** Deletes relayed results whose time for readers is over (RS-45). */
export async function deleteOverdueRelay(db: Queryable): Promise<void> {
  await db.query('delete from result_relay where expires_at <= clock_timestamp()');
}
