import { asMysqlError, mysqlErrors } from './errors.js';
import { type MysqlSession, quoted } from './session.js';

const NO_SUCH_DATABASE = 1049;
const NO_SUCH_COLUMN = 1054;
const NO_SUCH_TABLE = 1146;

export const MARKER_COLUMNS = 'fence, mode, state, rows_affected, step, execution_id, approval_digest';

interface MarkerTables {
  /** Quoted, with their databases. */
  tables: readonly string[];
  /** Why one of them cannot be read; null when all can. */
  problem: string | null;
}

/** The marker table's name; the databases in which an agent of this pair may have written it are `named`. */
export interface MarkerSearch {
  name: string;
  named: readonly string[];
  /** Looks in all databases: an agent with another `[marker]` may have written there. */
  everywhere: boolean;
}

/**
 * The marker tables that were found. Of the named databases one that cannot be read is among them, because it may hold the proof of a lost attempt; of others it
 * is more likely somebody else's. The server hides tables on which the account has no right at all.
 */
export async function findMarkerTables(session: MysqlSession, { name, named, everywhere }: MarkerSearch): Promise<MarkerTables> {
  const within = everywhere ? '' : `and table_schema in (${named.map(() => '?').join(', ')})`;
  // A broken table has no engine.
  const found = await session.query(
    `select table_schema, table_name from information_schema.tables
     where table_name = ? ${within} and table_type <> 'VIEW' and (engine = 'InnoDB' or engine is null) order by 1, 2`,
    [name, ...(everywhere ? [] : named)],
  );
  const tables: string[] = [];
  let problem: string | null = null;
  for (const [schema, table] of found) {
    const one = nameOf(schema ?? '', table ?? '');
    const why = await tryToRead(session, one);
    if (why === 'not of an agent' || (why !== null && !named.includes(schema ?? ''))) continue;
    tables.push(one);
    if (why !== null) problem = `markers may be in ${one}, which cannot be read: ${why}`;
  }
  return { tables, problem };
}

/** One of the named databases that this account may not read; null if there is none. The server does not tell such an account whether the table is there. */
export async function findHiddenTable(session: MysqlSession, { name, named }: MarkerSearch): Promise<string | null> {
  for (const table of named.map((schema) => nameOf(schema, name))) {
    const why = await tryToRead(session, table);
    if (why !== null && why !== 'not of an agent') return table;
  }
  return null;
}

export const nameOf = (schema: string, table: string) => `${quoted(schema)}.${quoted(table)}`;

async function tryToRead(session: MysqlSession, table: string): Promise<string | 'not of an agent' | null> {
  try {
    await session.run(`select request_id, created_at, ${MARKER_COLUMNS} from ${table} limit 0`);
    return null;
  } catch (error) {
    const server = asMysqlError(error);
    if (!server || mysqlErrors.isConnectivityError(error)) throw error;
    if ([NO_SUCH_COLUMN, NO_SUCH_TABLE, NO_SUCH_DATABASE].includes(server.errno)) return 'not of an agent';
    return `${server.message} (error ${server.errno})`;
  }
}
