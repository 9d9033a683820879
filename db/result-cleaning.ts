import type { Queryable, Transaction } from './client.js';

/** How long the policy in force keeps results of a pair (RS-60). */
export interface PairRetention {
  database: string;
  environment: string;
  retentionDays: number;
}

export interface CleanedResult {
  executionId: string;
  key: string;
}

/** Results of the backend that have expired, by their record or by the policy in force. */
export async function listExpiredResults(
  db: Queryable,
  backend: string,
  pairs: readonly PairRetention[],
  limit: number,
): Promise<CleanedResult[]> {
  return db.query<CleanedResult>(
    `with pairs as materialized (
       select * from jsonb_to_recordset($1::jsonb) as p(database text, environment text, "retentionDays" integer)
     ), over as (
       select s.* from pairs p cross join lateral (
         select r.execution_id, r.object_key from results r
         where r.database = p.database and r.environment = p.environment and r.backend = $2
           and r.stored_at <= clock_timestamp() - p."retentionDays" * interval '1 day'
         order by r.stored_at limit $3) s
       union
       (select execution_id, object_key from results where expires_at <= clock_timestamp() and backend = $2 order by expires_at limit $3)
     )
     select execution_id as "executionId", object_key as key from over limit $3`,
    [JSON.stringify(pairs), backend, limit],
  );
}

/** Call once the object is gone. */
export async function deleteResult(db: Queryable, executionId: string): Promise<void> {
  await db.query('delete from results where execution_id = $1', [executionId]);
}

/** Which of these executions have a stored result on record. */
export async function listRecorded(db: Queryable, executionIds: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ execution_id: string }>('select execution_id from results where execution_id = any($1::uuid[])', [
    executionIds,
  ]);
  return rows.map((row) => row.execution_id);
}

/** Locks the request, because records are written only under its lock. Returns whether the execution has none. */
export async function lockUnrecorded(tx: Transaction, requestId: string, executionId: string): Promise<boolean> {
  await tx.query('select 1 from requests where id = $1 for update', [requestId]);
  return (await listRecorded(tx, [executionId])).length === 0;
}
