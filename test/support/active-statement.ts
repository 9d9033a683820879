import type pg from 'pg';
import { eventually } from './processes.js';

/** The sessions of this database that wait for a lock; other test files use the same server. */
export const lockWaits = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;

/** Cancels statements of other sessions of the same database that contain the text, or ends those sessions. */
export async function endActive(client: pg.Client, how: 'cancel' | 'terminate', text: string): Promise<void> {
  await client.query(
    `select pg_${how}_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
       and state = 'active' and query like '%' || $1 || '%'`,
    [text],
  );
}

/** Waits until another session of the same database runs a statement that contains the text. */
export async function untilActive(client: pg.Client, text: string): Promise<void> {
  const sql = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and state = 'active' and query like '%' || $1 || '%'`;
  await eventually(async () => (await client.query(sql, [text])).rows.length > 0);
}
