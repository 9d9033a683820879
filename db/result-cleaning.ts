import type { Pair } from '../domain/caller.js';
import type { Queryable, Transaction } from './client.js';

/** How long the policy in force keeps results of a pair (RS-60). */
export interface PairRetention extends Pair {
  retentionDays: number;
}

export interface CleanedResult {
  executionId: string;
  key: string;
}

/** The first results that have expired, by their record or by the policy in force. $1 = the pairs with their days, $2 = how many. */
const expired = (which: string) =>
  `with pairs as materialized (
     select * from jsonb_to_recordset($1::jsonb) as p(database text, environment text, "retentionDays" integer)
   ), expired as (
     select s.* from pairs p cross join lateral (
       select r.execution_id, r.object_key from results r
       where r.database = p.database and r.environment = p.environment and ${which}
         and r.stored_at <= statement_timestamp() - p."retentionDays" * interval '1 day'
       order by r.stored_at limit $2) s
     union
     (select r.execution_id, r.object_key from results r where r.expires_at <= statement_timestamp() and ${which} order by r.expires_at limit $2)
   )`;

/** Expired results whose data is an object of the backend, without the executions of `except`. */
export async function listExpiredObjects(
  db: Queryable,
  pairs: readonly PairRetention[],
  limit: number,
  backend: string,
  except: readonly string[] = [],
): Promise<CleanedResult[]> {
  return db.query<CleanedResult>(
    `${expired('r.backend = $3 and r.execution_id <> all($4::uuid[])')}
     select execution_id as "executionId", object_key as key from expired limit $2`,
    [JSON.stringify(pairs), limit, backend, except],
  );
}

/** Deletes expired results whose data is in their row. Skips those that a purge deletes at the moment. Returns how many. */
export async function deleteExpiredRows(db: Queryable, pairs: readonly PairRetention[], limit: number): Promise<number> {
  const gone = await db.query(
    `${expired('r.object_key is null')} delete from results where execution_id in (
       select execution_id from results where execution_id in (select execution_id from expired limit $2) for update skip locked
     ) returning execution_id`,
    [JSON.stringify(pairs), limit],
  );
  return gone.length;
}

/** Call once the object is gone. */
export async function deleteResult(db: Queryable, executionId: string): Promise<void> {
  await db.query('delete from results where execution_id = $1', [executionId]);
}

/** Which of these executions have an object on record. One whose data is in the row has none, whatever lies in the store. */
export async function listRecorded(db: Queryable, executionIds: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ execution_id: string }>(
    'select execution_id from results where execution_id = any($1::uuid[]) and object_key is not null',
    [executionIds],
  );
  return rows.map((row) => row.execution_id);
}

/** Locks the request, because records are written only under its lock. Returns whether the execution has none. */
export async function lockUnrecorded(tx: Transaction, requestId: string, executionId: string): Promise<boolean> {
  await tx.query('select 1 from requests where id = $1 for update', [requestId]);
  return (await listRecorded(tx, [executionId])).length === 0;
}
