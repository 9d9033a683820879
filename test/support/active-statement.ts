import type pg from 'pg';
import { eventually } from './processes.js';

/** Waits until another session of the same database runs a statement that contains the text. */
export async function untilActive(client: pg.Client, text: string): Promise<void> {
  const sql = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and state = 'active' and query like '%' || $1 || '%'`;
  await eventually(async () => (await client.query(sql, [text])).rows.length > 0);
}
