import type { Queryable, Transaction } from './client.js';
import type { CleanedResult } from './result-cleaning.js';

const over = `r.status in ('executed', 'failed', 'rejected', 'cancelled', 'expired', 'execution_lost')
  and r.updated_at <= statement_timestamp() - $1::int * interval '1 day'`;

const objects = 'select 1 from results s where s.request_id = r.id and s.object_key is not null';

/** ST-20: purges up to `limit` requests without objects in a store, with all their rows. Returns how many. */
export async function purgeRequests(tx: Transaction, days: number, limit: number): Promise<number> {
  const gone = await tx.query(
    `with gone as materialized (
       select r.id from requests r where ${over} and not exists (${objects})
       order by r.updated_at limit $2 for update skip locked
     ), news as (
       delete from outbox o using gone where o.request_id = gone.id
     ), cards as (
       delete from slack_cards c using gone where c.request_id = gone.id
     )
     delete from requests r using gone where r.id = gone.id returning r.id`,
    [days, limit],
  );
  return gone.length;
}

/** Requests to purge with objects that are all in this backend, without those of `except`. */
export async function listPurgeableWithObjects(
  db: Queryable,
  days: number,
  backend: string,
  limit: number,
  except: readonly string[] = [],
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select r.id from requests r where ${over} and exists (${objects}) and not exists (${objects} and s.backend <> $2)
       and r.id <> all($4::uuid[])
     order by r.updated_at limit $3`,
    [days, backend, limit, except],
  );
  return rows.map(({ id }) => id);
}

/** Locks the request and returns some of its objects; null if it must no longer be purged or another process holds it. */
export async function lockPurgeable(tx: Transaction, days: number, id: string, limit: number): Promise<CleanedResult[] | null> {
  const held = await tx.query(`select 1 from requests r where ${over} and r.id = $2 for update skip locked`, [days, id]);
  if (held.length === 0) return null;
  return tx.query<CleanedResult>(
    'select execution_id as "executionId", object_key as key from results where request_id = $1 and object_key is not null limit $2',
    [id, limit],
  );
}

/** Deletes revoked tokens, and sessions that are over, after their retention (IM-17). Returns how many. */
export async function purgeTokens(db: Queryable, days: number, limit: number): Promise<number> {
  const gone = await db.query(
    `delete from tokens where id in (
       select id from tokens where revoked_at <= clock_timestamp() - $1::int * interval '1 day'
         or (provisioning_kind = 'console' and expires_at <= clock_timestamp() - $1::int * interval '1 day') order by created_at limit $2
     ) returning id`,
    [days, limit],
  );
  return gone.length;
}

/** How many ended tokens of a subject are kept. Whoever makes and ends tokens in a loop would otherwise make the list of all too long to be read. */
const maxEnded = 1000;
/** How many are deleted at once, so that a token can be made however many there are. */
const deletedAtOnce = 1000;

/** Deletes the oldest ended tokens of a subject that has too many. */
export function dropOldTokens(tx: Transaction, subjectType: 'user' | 'agent', subjectId: string): void {
  tx.send(
    `with old as materialized (
       select id from tokens where subject_type = $1 and subject_id = $2 and (revoked_at is not null or expires_at < clock_timestamp())
       order by created_at desc, id desc offset $3 limit $4
     ) delete from tokens where id = any(array(select t.id from tokens t join old using (id) for update of t skip locked))`,
    [subjectType, subjectId, maxEnded, deletedAtOnce],
  );
}
