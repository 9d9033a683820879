import { randomUUID } from 'node:crypto';
import { MARKER_SCHEMA } from '../../../sql/reserved-table.js';
import { MISSING_TABLE, mysqlMarkerDdl, SINCE } from '../../marker.js';
import { Unexpected } from '../faults.js';
import { asMysqlError, mysqlErrors } from './errors.js';
import { findHiddenTable, findMarkerTables, type MarkerSearch, nameOf } from './marker-tables.js';
import { type MysqlSession, quoted } from './session.js';

const DATABASE_DENIED = 1044;
const TABLE_DENIED = 1142;
const NO_SUCH_TABLE = 1146;
const NO_SUCH_DATABASE = 1049;

/** The marker table as configured; `database` is the one that the address names, in the letters that the server tells. */
export interface MarkerNames {
  schema: string | null;
  database: string | null;
  table: string;
}

/** Where marker rows are written, and where others may have written some; all tables are quoted, with their databases. */
export interface MarkerPlace {
  table: string;
  /** The other marker tables of the named databases. */
  others: readonly string[];
  /** Those of them in which earlier versions of this agent wrote. */
  older: readonly string[];
}

interface Found {
  /** Null when there is no database to look in. */
  place: MarkerPlace | null;
  problem: string | null;
  note: string | null;
}

/**
 * The table in the configured database; else in the dedicated markers database, where the account may create it; else in the
 * address's database (HD-40).
 */
export async function prepareMarkerPlace(session: MysqlSession, names: MarkerNames, onlyLook: boolean): Promise<Found> {
  const databases = databasesOf(names);
  let before: string | null = null;
  for (const [index, schema] of databases.entries()) {
    const makesDatabase = databases.length > 1 && index === 0;
    const { problem, lacksTable } = await prepareIn(session, schema, names.table, { onlyLook, makesDatabase });
    const next = databases.slice(index + 1);
    if (problem === null || lacksTable || next.length === 0) {
      const table = nameOf(schema, names.table);
      const found = await findMarkerTables(session, searchOf(names, false));
      const others = found.tables.filter((one) => one !== table);
      const place = { table, others, older: others.filter((one) => next.some((later) => nameOf(later, names.table) === one)) };
      const note =
        before === null ? null : `in database ${schema}, because of the own one: ${before}${await unseen(session, names)}`;
      return { place, problem: problem ?? found.problem, note };
    }
    before = problem;
  }
  return { place: null, problem: 'the address names no database, and [marker] schema is not set', note: null };
}

/** What an operator should know before anything is lost. */
async function unseen(session: MysqlSession, names: MarkerNames): Promise<string> {
  const hidden = await findHiddenTable(session, searchOf(names, false));
  return hidden === null ? '' : `; what another agent loses is not run again by this one, which may not read ${hidden}`;
}

/** What an agent of this pair may have chosen as its place, whatever its configuration says of it. */
export function searchOf({ schema, database, table }: MarkerNames, everywhere: boolean): MarkerSearch {
  return { name: table, named: [schema, MARKER_SCHEMA, database].filter((one) => one !== null), everywhere };
}

function databasesOf({ schema, database }: MarkerNames): string[] {
  if (schema !== null) return [schema];
  if (database === null) return [];
  return database === MARKER_SCHEMA ? [MARKER_SCHEMA] : [MARKER_SCHEMA, database];
}

/** `problem` is null when rows can be written and read in a place. A table that is missing alone, the agent creates at its start. */
interface Prepared {
  problem: string | null;
  lacksTable: boolean;
}

const refused = (problem: string): Prepared => ({ problem, lacksTable: false });

async function prepareIn(
  session: MysqlSession,
  schema: string,
  name: string,
  { onlyLook, makesDatabase }: { onlyLook: boolean; makesDatabase: boolean },
): Promise<Prepared> {
  const table = nameOf(schema, name);
  try {
    let engine = await engineOf(session, schema, name);
    if (engine === undefined) {
      if (onlyLook) return await missingTable(session, table, schema);
      if (makesDatabase && !(await hasDatabase(session, schema)))
        await session.run(`create database if not exists ${quoted(schema)}`);
      await session.run(mysqlMarkerDdl(table));
      engine = await engineOf(session, schema, name);
    }
    if (engine?.toLowerCase() !== 'innodb') return refused('the marker table is not of the engine InnoDB');
    const triggers = 'select 1 from information_schema.triggers where event_object_schema = ? and event_object_table = ?';
    if ((await session.query(triggers, [schema, name])).length > 0) return refused('the marker table has triggers');
    await tryRights(session, table);
    if (!onlyLook) await addSince(session, table);
    return { problem: null, lacksTable: false };
  } catch (error) {
    const server = asMysqlError(error);
    if (!server || mysqlErrors.isConnectivityError(error)) throw error;
    return refused(`${server.message} (error ${server.errno})`);
  }
}

async function hasDatabase(session: MysqlSession, schema: string): Promise<boolean> {
  return (await session.query('select 1 from information_schema.schemata where schema_name = ?', [schema])).length > 0;
}

async function engineOf(session: MysqlSession, schema: string, table: string): Promise<string | null | undefined> {
  const sql = 'select engine from information_schema.tables where table_schema = ? and table_name = ?';
  return (await session.query(sql, [schema, table]))[0]?.[0];
}

/**
 * What is needed for a missing table, when only looking (AP-52). A statement that can only fail, because its source table does
 * not exist, shows the privileges first.
 */
async function missingTable(session: MysqlSession, table: string, schema: string): Promise<Prepared> {
  try {
    await session.run(`create table ${table} like ${quoted(schema)}.${quoted(`-${randomUUID()}`)}`);
    throw new Unexpected('a table was made like one that is not there');
  } catch (error) {
    const { errno, message } = asMysqlError(error) ?? {};
    if (errno === NO_SUCH_TABLE || errno === NO_SUCH_DATABASE) return { problem: MISSING_TABLE, lacksTable: true };
    if (errno !== TABLE_DENIED && errno !== DATABASE_DENIED) throw error;
    const right = /^([A-Z]+) command denied/.exec(message ?? '')?.[1] ?? 'CREATE';
    return refused(`the marker table does not exist, and the account lacks ${right} on database ${schema}`);
  }
}

/** Inserts, reads, updates and deletes a test row in a transaction that is rolled back (AP-51). */
async function tryRights(session: MysqlSession, table: string): Promise<void> {
  const insert = `insert into ${table} (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest) values`;
  // By the full key: a search by part of it takes gap locks, which block agents that start together.
  const id = `-${randomUUID()}`;
  const row = `request_id = '${id}' and fence = 0 and step = ''`;
  await session.run('start transaction');
  try {
    await session.run(`${insert} ('${id}', 0, '', 'tx', 'open', '-', '-', '-') on duplicate key update mode = 'tx'`);
    await session.run(`select mode, state, rows_affected, created_at from ${table} where ${row}`);
    await session.run(`update ${table} set state = 'done', rows_affected = 0 where ${row}`);
    await session.run(`delete from ${table} where ${row}`);
  } finally {
    await session.run('rollback').catch(() => session.distrust());
  }
}

/** Says in a table without such a row since when agents of this version write there. Rows of earlier ones prove nothing of attempts of this. */
async function addSince(session: MysqlSession, table: string): Promise<void> {
  if ((await session.query(`select 1 from ${table} where request_id = ? limit 1`, [SINCE])).length > 0) return;
  await session.query(
    `insert ignore into ${table} (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest, created_at)
       values (?, 0, '', 'tx', 'open', '-', '-', '-', now(3))`,
    [SINCE],
  );
}
