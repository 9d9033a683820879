import type pg from 'pg';

/**
 * Identifies a transaction to the server. After a crash, ids that were not on disk are reused, and so are those that a promoted standby had
 * not received: an id means the same transaction only while `since` stays the same. A crash resets the server's statistics, and a promotion
 * begins another timeline, with which names of log files begin.
 */
export interface TransactionName {
  id: string;
  since: string;
}

const since =
  "concat_ws(' ', pg_stat_get_bgwriter_stat_reset_time(), left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)) as since";

/** SQL expression: acknowledged commits are on disk, even if the database's default is `off`. A stricter default stays. */
export const durably =
  "set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)";

/** Begins and names the transaction in one round trip, so that after a lost answer to COMMIT its outcome can be queried (HT-113). */
export async function beginNamed(client: pg.PoolClient): Promise<TransactionName> {
  const text = `begin; select pg_current_xact_id()::text as id, ${since}, ${durably}`;
  const [, named] = (await client.query(text)) as unknown as pg.QueryResult<TransactionName>[];
  return named!.rows[0]!;
}

/** False if the outcome is unknown. */
export async function hasCommitted(client: pg.PoolClient, name: TransactionName): Promise<boolean> {
  const sql = `select pg_xact_status($1::text::xid8) as status, ${since}`;
  const { rows } = await client.query<{ status: string | null; since: string }>(sql, [name.id]);
  return rows[0]?.status === 'committed' && rows[0].since === name.since;
}

/** The same for a statement that commits by itself, proved by an audit event that it writes. */
export async function hasWritten(client: pg.PoolClient, eventId: string): Promise<boolean> {
  const { rows } = await client.query('select 1 from audit_events where id = $1', [eventId]);
  return rows.length > 0;
}
