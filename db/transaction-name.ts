import type pg from 'pg';

/**
 * What the server calls a transaction. A crash takes back the ids that were not on disk and gives them to others: an id means the same
 * transaction only as long as `since`, the instant at which a crash empties the server's statistics.
 */
export interface TransactionName {
  id: string;
  since: string;
}

const since = 'pg_stat_get_bgwriter_stat_reset_time()::text as since';

/** What is acknowledged is on disk, also where the database is set up to be hasty; a stronger wish of it stays. */
const durably = "set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)";

/** Begins and names the transaction in one round trip, so that a lost answer to COMMIT can be asked for (HT-113). */
export async function beginNamed(client: pg.PoolClient): Promise<TransactionName> {
  const text = `begin; select pg_current_xact_id()::text as id, ${since}, ${durably}`;
  const [, named] = (await client.query(text)) as unknown as pg.QueryResult<TransactionName>[];
  return named!.rows[0]!;
}

/** Whether a transaction whose COMMIT was not answered is known to have committed. */
export async function hasCommitted(client: pg.PoolClient, name: TransactionName): Promise<boolean> {
  const sql = `select pg_xact_status($1::text::xid8) as status, ${since}`;
  const { rows } = await client.query<{ status: string | null; since: string }>(sql, [name.id]);
  return rows[0]?.status === 'committed' && rows[0].since === name.since;
}
