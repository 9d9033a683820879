import { randomUUID } from 'node:crypto';
import { MARKER_SCHEMA } from '../../../sql/reserved-table.js';
import { MAX_STRANGERS, type MarkerRow, MISSING_TABLE, markerRow, mysqlMarkerDdl } from '../../marker.js';
import type { Run } from '../driver.js';
import type { Marker } from '../engine.js';
import { Unexpected } from '../faults.js';
import { asMysqlError, mysqlErrors } from './errors.js';
import { type MysqlSession, quoted } from './session.js';

const DATABASE_DENIED = 1044;
const TABLE_DENIED = 1142;
const NO_SUCH_TABLE = 1146;
const NO_SUCH_DATABASE = 1049;

export interface MysqlMarker extends Marker<MysqlSession> {
  done(session: MysqlSession, run: Run, rowsAffected: number | null): Promise<unknown>;
  remove(session: MysqlSession, run: Run): Promise<unknown>;
}

/**
 * Places the marker table in the configured database; else in the dedicated markers database, where the account may create it;
 * else in the address's database (HD-40).
 */
export function createMysqlMarker(options: { schema: string | null; database: string | null; table: string }): MysqlMarker {
  const { table: name } = options;
  let table = '';
  let older: string[] = [];
  const own = 'request_id = ? and fence = ? and step = ? and execution_id = ?';
  const keyOf = (run: Run) => [run.requestId, String(run.fence), run.step, run.executionId];
  const columns = '(request_id, fence, step, execution_id, mode, state, agent_id, approval_digest)';
  return {
    async prepare(session, onlyLook) {
      const places = placesOf(options);
      if (places.length === 0) return { problem: 'the address names no database, and [marker] schema is not set', note: null };
      let before: string | null = null;
      for (const [index, schema] of places.entries()) {
        const { problem, lacksTable } = await prepareIn(session, schema, name, {
          onlyLook,
          makesDatabase: places.length > 1 && index === 0,
        });
        const last = index === places.length - 1;
        if (problem === null || lacksTable || last) {
          table = `${quoted(schema)}.${quoted(name)}`;
          older = last ? [] : await olderTables(session, places.slice(index + 1), name);
          return { problem, note: before === null ? null : `in database ${schema}, because of the own one: ${before}` };
        }
        before = problem;
      }
      return { problem: before, note: null };
    },
    async read(session, run) {
      if (run.unresolvedFences.length > 0 && table !== '') {
        const [own, ...rest] = placesOf(options);
        if (own !== undefined && table === `${quoted(own)}.${quoted(name)}`) older = await olderTables(session, rest, name);
      }
      const rows: MarkerRow[] = [];
      for (const one of [table, ...older]) rows.push(...(await readFrom(session, one, run)));
      return rows;
    },
    // A table of an earlier version has no execution id in its key. A row that conflicts there belongs to no attempt, because a
    // fence has one execution.
    open: (session, run, mode) =>
      session.query(
        `insert into ${table} ${columns} values (?, ?, ?, ?, ?, 'open', ?, ?) on duplicate key update
           rows_affected = if(state = 'done' and execution_id = values(execution_id), rows_affected, null),
           mode = if(state = 'done' and execution_id = values(execution_id), mode, values(mode)),
           state = if(state = 'done' and execution_id = values(execution_id), state, 'open'),
           agent_id = values(agent_id), approval_digest = values(approval_digest), execution_id = values(execution_id)`,
        [...keyOf(run), mode, run.agentId, run.approvalDigest],
      ),
    async done(session, run, rowsAffected) {
      const set = `update ${table} set state = 'done', rows_affected = nullif(?, '') where ${own}`;
      const rows = await session.change(set, [rowsAffected === null ? '' : String(rowsAffected), ...keyOf(run)]);
      if (rows !== 1) throw new Unexpected('the marker row of the attempt is gone');
    },
    remove: (session, run) => session.query(`delete from ${table} where ${own} and state = 'open'`, keyOf(run)),
    async deleteOld(session, days) {
      let deleted = 0;
      for (const one of [table, ...older]) {
        // Without this, the search for old rows locks all of them, and jobs that write markers wait.
        await session.run('set transaction isolation level read committed');
        deleted += (await session.run(`delete from ${one} where created_at < now() - interval ${Math.floor(days)} day`)).affected;
      }
      return deleted;
    },
  };
}

function placesOf({ schema, database }: { schema: string | null; database: string | null }): string[] {
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
  const table = `${quoted(schema)}.${quoted(name)}`;
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

/** Tables that an older agent version may have written to and this account can read. */
async function olderTables(session: MysqlSession, schemas: readonly string[], name: string): Promise<string[]> {
  const found: string[] = [];
  for (const schema of schemas)
    if ((await engineOf(session, schema, name))?.toLowerCase() === 'innodb') found.push(`${quoted(schema)}.${quoted(name)}`);
  return found;
}

/** All rows of the known attempts and a few others, however many and however long the planted ones are. */
async function readFrom(session: MysqlSession, table: string, run: Run): Promise<MarkerRow[]> {
  const ids = [run.executionId, ...(run.unresolvedExecutions?.map(({ executionId }) => executionId) ?? [])];
  const fences = run.unresolvedExecutions === null ? run.unresolvedFences : [];
  const marks = (values: readonly unknown[]) => values.map(() => '?').join(', ');
  const known = `(execution_id in (${marks(ids)}) or fence in (${marks([0, ...fences])}))`;
  const columns = 'fence, mode, state, rows_affected, step, execution_id, approval_digest';
  const values = [run.requestId, ...ids, ...[-1, ...fences].map(String)];
  const rows = await session.query(
    `(select ${columns} from ${table} where request_id = ? and ${known})
     union all (select ${columns} from ${table} where request_id = ? and not ${known} order by fence desc limit ${MAX_STRANGERS})`,
    [...values, ...values],
  );
  return rows.map(markerRow);
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
