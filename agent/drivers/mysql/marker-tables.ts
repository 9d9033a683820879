import { asMysqlError, mysqlErrors } from './errors.js';
import { type MysqlSession, quoted } from './session.js';

const NO_SUCH_COLUMN = 1054;
const NO_SUCH_TABLE = 1146;

export const MARKER_COLUMNS = 'fence, mode, state, rows_affected, step, execution_id, approval_digest';

interface MarkerTables {
  /** Quoted, with their databases. */
  tables: readonly string[];
  /** Why one of them cannot be read; null when all can. */
  problem: string | null;
}

/**
 * The marker tables of all databases: an agent with other rights, another `[marker]` or an earlier version may have written into
 * any of them. One that cannot be read is among them, because it may hold the proof of a lost attempt. The server hides tables on
 * which the account has no right at all.
 */
export async function findMarkerTables(session: MysqlSession, name: string): Promise<MarkerTables> {
  // A broken table has no engine.
  const found = await session.query(
    `select table_schema, table_name from information_schema.tables
     where table_name = ? and table_type <> 'VIEW' and (engine = 'InnoDB' or engine is null) order by 1, 2`,
    [name],
  );
  const tables: string[] = [];
  let problem: string | null = null;
  for (const [schema, table] of found) {
    const one = nameOf(schema ?? '', table ?? '');
    const why = await tryToRead(session, one);
    if (why === 'not of an agent') continue;
    tables.push(one);
    if (why !== null) problem = `markers may be in ${one}, which cannot be read: ${why}`;
  }
  return { tables, problem };
}

export const nameOf = (schema: string, table: string) => `${quoted(schema)}.${quoted(table)}`;

async function tryToRead(session: MysqlSession, table: string): Promise<string | 'not of an agent' | null> {
  try {
    await session.run(`select request_id, created_at, ${MARKER_COLUMNS} from ${table} limit 0`);
    return null;
  } catch (error) {
    const server = asMysqlError(error);
    if (!server || mysqlErrors.isConnectivityError(error)) throw error;
    if (server.errno === NO_SUCH_COLUMN || server.errno === NO_SUCH_TABLE) return 'not of an agent';
    return `${server.message} (error ${server.errno})`;
  }
}
