import { KEPT_OTHERWISE, type OneMigration, otherToolsTable, TableProblem, type TrackingTable } from '../../migrations/engine.js';
import { Unexpected } from '../faults.js';
import { asMysqlError } from './errors.js';
import { type MysqlSession, quoted } from './session.js';

const NO_SUCH_TABLE = 1146;
const NO_SUCH_COLUMN = 1054;

/** The tracking table in the address's database, or where to create it (MI-20). */
export async function findTrackingTable(session: MysqlSession): Promise<TrackingTable> {
  const [[database] = []] = await session.query('select database()');
  if (!database) throw new TableProblem('the url names no database');
  const name = `${quoted(database)}.schema_migrations`;
  try {
    await session.query(`select version from ${name} limit 0`);
  } catch (error) {
    const number = asMysqlError(error)?.errno;
    if (number === NO_SUCH_COLUMN) throw new TableProblem(`the table ${name} has no column version`);
    if (number === NO_SUCH_TABLE) return { name, there: false };
    throw error;
  }
  const column = await findUnknownColumn(session, database);
  if (column !== null) throw otherToolsTable(name, column);
  return { name, there: true };
}

/** A column of another tool, or one without which no version row can be written. */
async function findUnknownColumn(session: MysqlSession, database: string): Promise<string | null> {
  const [row] = await session.query(
    `select column_name from information_schema.columns
     where table_schema = ? and table_name = 'schema_migrations' and lower(column_name) <> 'version'
       and (lower(column_name) = 'dirty' or (is_nullable = 'NO' and column_default is null and extra not regexp 'auto_increment|generated'))
     order by ordinal_position limit 1`,
    [database],
  );
  return row?.[0] ?? null;
}

/** Creates the table, which commits by itself; versions that differ only in case are different (MI-22). */
export async function makeTrackingTable(session: MysqlSession, { name }: TrackingTable): Promise<void> {
  await session.run(
    `create table if not exists ${name} (version varchar(255) character set utf8mb4 collate utf8mb4_bin primary key) engine=InnoDB row_format=dynamic`,
  );
}

/** The versions in the table; other tools may have left rows without a version. */
export async function readVersions(session: MysqlSession, { name }: TrackingTable): Promise<string[]> {
  const rows = await session.query(`select convert(version using utf8mb4) from ${name} where version is not null`);
  return rows.map(([version]) => version ?? '');
}

// The first half finds the row by its key; the second compares bytes, whatever the table's collation.
const isVersion = 'version = ? and cast(convert(version using utf8mb4) as binary) = cast(? as binary)';

export async function hasVersion(session: MysqlSession, { name }: TrackingTable, version: string): Promise<boolean> {
  return (await session.query(`select 1 from ${name} where ${isVersion}`, [version, version])).length > 0;
}

/** Writes or deletes the version row, using no other column (MI-20); throws Unexpected unless exactly one row changed. */
export async function changeVersion(session: MysqlSession, { direction, migration, table }: OneMigration): Promise<void> {
  const { version } = migration;
  if (direction === 'up') await session.query(`insert into ${table.name} (version) values (?)`, [version]);
  else await session.query(`delete from ${table.name} where ${isVersion}`, [version, version]);
  const [[rows] = []] = await session.query('select row_count()');
  if (rows !== '1') throw new Unexpected(`${rows} version rows were changed instead of one`);
  // A column of numbers keeps 001 as 1, so that the migration would run again.
  if (direction === 'up' && !(await hasVersion(session, table, version))) throw new Unexpected(KEPT_OTHERWISE);
}
