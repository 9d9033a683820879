import type { Queryable } from './client.js';

/** Whether this session can write nothing: its server is a standby, or the server, the database or the role is set to be only read. */
export async function isReadOnly(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ isOn: boolean }>(`select current_setting('transaction_read_only')::boolean as "isOn"`);
  return row?.isOn === true;
}
