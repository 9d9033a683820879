import type { TableName } from '../../../domain/statement.js';
import { sleep } from '../../../lib/sleep.js';
import type { Run } from '../driver.js';
import { Uncounted } from '../row-bound.js';
import { mysqlErrors } from './errors.js';
import type { MysqlSession } from './session.js';

/** The server refreshes its view of transactions when it is older than 0.1 s. */
const LOOK_MS = 120;

/**
 * Counts what triggers and foreign keys change beyond the rows that the server reports for a statement; the returned function
 * gives the transaction's total of changed rows. Returns null when the written tables have no triggers or foreign keys that the
 * role can see.
 */
export async function beginCounting(session: MysqlSession, run: Run): Promise<(() => Promise<number>) | null> {
  if (!(await someHangsOn(session, run.changed))) return null;
  const before = await modifiedRows(session);
  return async () => (await modifiedRows(session)) - before;
}

async function someHangsOn(session: MysqlSession, tables: readonly TableName[]): Promise<boolean> {
  for (const { schema, name } of tables) {
    const place = schema === null ? 'database()' : '?';
    const values = schema === null ? [name] : [schema, name];
    const found = await session.query(
      `select 1 from information_schema.triggers where event_object_schema = ${place} and event_object_table = ?
       union all select 1 from information_schema.referential_constraints
       where unique_constraint_schema = ${place} and referenced_table_name = ?
         and (delete_rule not in ('RESTRICT', 'NO ACTION') or update_rule not in ('RESTRICT', 'NO ACTION')) limit 1`,
      [...values, ...values],
    );
    if (found.length > 0) return true;
  }
  return false;
}

/** InnoDB's own count of the rows that the transaction inserted, updated or deleted. */
async function modifiedRows(session: MysqlSession): Promise<number> {
  await sleep(LOOK_MS);
  try {
    const [row] = await session.query(
      'select trx_rows_modified from information_schema.innodb_trx where trx_mysql_thread_id = connection_id()',
    );
    return Number(row?.[0] ?? 0);
  } catch (error) {
    if (!mysqlErrors.isServerError(error)) throw error;
    throw new Uncounted(
      'rows that triggers and foreign keys change cannot be counted: the role of the agent lacks the right PROCESS',
    );
  }
}
