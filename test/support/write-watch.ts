import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise';

/** What statements left behind. Reads leave no rows and no locks. */
export interface Effects {
  /** Rows that the whole server wrote, changed or deleted, without those of temporary tables. */
  rows: number;
  /** Named locks that they took. They are released afterwards. */
  locks: number;
  /** The server's error for each statement; null if it ran to its end. */
  errors: readonly (ServerError | null)[];
}

export interface ServerError {
  errno: number;
  message: string;
  /** The connection is gone: the server crashed, or the statement did not end. */
  fatal: boolean;
}

/** With `userstat` on, the server counts changed rows of each table but the temporary ones. */
const counters = `select release_all_locks() locks,
  (select coalesce(sum(rows_changed), 0) from information_schema.table_statistics) row_count`;
const stoppedByTime = 1969;
/** A statement that the server itself cannot stop. */
const hangMs = 10_000;

/**
 * A connection like those of the agent (fixed sql_mode and character set, one statement at a time), with a limit of time and
 * rows.
 */
export async function openWatched(url: string, limitMs: number): Promise<Connection> {
  const connection = await mysql.createConnection({ uri: url, charset: 'utf8mb4', connectTimeout: 10_000 });
  connection.on('error', () => {});
  const settings = `sql_mode = 'STRICT_TRANS_TABLES', max_statement_time = ${limitMs / 1000}, sql_select_limit = 1000`;
  await connection.query(`set session ${settings}`);
  return connection;
}

/** Runs statements one after the other, and returns what the server counted in the meantime. */
export async function runWatched(connection: Connection, statements: readonly string[]): Promise<Effects> {
  const before = await count(connection);
  const errors: (ServerError | null)[] = [];
  for (const sql of statements) {
    const error = await connection.query({ sql, timeout: hangMs }).then(() => null, toError);
    errors.push(error);
    if (error?.fatal) return { rows: 0, locks: 0, errors };
  }
  const after = await count(connection);
  return { rows: after.rows - before.rows, locks: after.locks, errors };
}

/** Whether one of these statements waited or took too long. */
export const wasStopped = ({ errors }: Effects): boolean => errors.some((error) => error?.errno === stoppedByTime);

/** Whether these statements wrote or locked, or broke their connection. */
export const didHarm = ({ rows, locks, errors }: Effects): boolean => rows > 0 || locks > 0 || errors.some((each) => each?.fatal);

/** Where the binary log ends. Any change moves that. */
export async function binlogEnd(connection: Connection): Promise<string> {
  const [rows] = await connection.query<RowDataPacket[]>('show master status');
  return `${rows[0]?.File} ${rows[0]?.Position}`;
}

async function count(connection: Connection): Promise<{ rows: number; locks: number }> {
  const [rows] = await connection.query<RowDataPacket[]>(counters);
  return { rows: Number(rows[0]?.row_count), locks: Number(rows[0]?.locks) };
}

const toError = (error: { errno: number; message: string; fatal?: boolean }): ServerError => ({
  errno: error.errno,
  message: error.message,
  fatal: error.fatal === true,
});
