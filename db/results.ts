import type { Queryable } from './client.js';
import type { MoveStatement } from './move-statement.js';
import { at } from './row-types.js';

export interface StoredResult {
  executionId: string;
  place: ResultPlace;
  length: number;
  sha256: string;
  validJson: boolean;
  retentionDays: number;
}

/** Where the data is (RS-63): an object in the store, or bytes in the row. */
export type ResultPlace = { backend: string; key: string } | { data: Uint8Array };

/** Part of the move that ends its run: records a result, with its data if that is small (RS-47, RS-48). */
export function resultInsert({ p, request, now }: Pick<MoveStatement, 'p' | 'request' | 'now'>, result: StoredResult): string {
  const { place } = result;
  const [backend, key, data] = 'data' in place ? ['database', null, place.data] : [place.backend, place.key, null];
  const columns: Record<string, unknown> = {
    execution_id: result.executionId,
    backend,
    object_key: key,
    data,
    content_length: result.length,
    sha256: result.sha256,
    valid_json: result.validJson,
    stored_at: at(now),
    retention_days: result.retentionDays,
    expires_at: at(now + result.retentionDays * 86_400_000),
  };
  const copied = 'requester, database, environment, share_selectors';
  const values = Object.values(columns).map(p.add).join(', ');
  return `stored as (insert into results (request_id, ${copied}, ${Object.keys(columns).join(', ')})
    select id, ${copied}, ${values} from requests where id = ${request})`;
}

/** Part of a move: relays an answer that is not stored, for readers that come soon. Above `maxSlots` the oldest is dropped (RS-45, RS-46). */
export function relayInsert(
  { p, request }: MoveStatement,
  relay: { executionId: string; envelope: Uint8Array; expiresAt: number },
  maxSlots: number,
): string {
  const values = [relay.executionId, relay.envelope, at(relay.expiresAt)].map(p.add).join(', ');
  return `full_up as (
      delete from result_relay where ${request} is not null
        and execution_id in (select execution_id from result_relay order by expires_at desc offset ${p.add(maxSlots - 1)})
    ), relayed as (
      insert into result_relay (request_id, execution_id, envelope, expires_at) select id, ${values} from allowed on conflict (execution_id) do nothing
    )`;
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
