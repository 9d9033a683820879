import { MAX_STRANGERS, type MarkerRow, markerRow, SINCE, type TableAge, tableAge } from '../../marker.js';
import type { Run } from '../driver.js';
import type { Marker } from '../engine.js';
import { Unexpected } from '../faults.js';
import { asMysqlError, mysqlErrors } from './errors.js';
import { type MarkerNames, type MarkerPlace, prepareMarkerPlace, searchOf } from './marker-place.js';
import { findHiddenTable, findMarkerTables, MARKER_COLUMNS } from './marker-tables.js';
import type { MysqlSession } from './session.js';

export interface MysqlMarker extends Marker<MysqlSession> {
  done(session: MysqlSession, run: Run, rowsAffected: number | null): Promise<unknown>;
  remove(session: MysqlSession, run: Run): Promise<unknown>;
}

export function createMysqlMarker(configured: Omit<MarkerNames, 'database'>): MysqlMarker {
  let names: MarkerNames = { ...configured, database: null };
  let place: MarkerPlace = { table: '', others: [], older: [] };
  return {
    async prepare(session, onlyLook) {
      const [[database = null] = []] = await session.query('select database()');
      names = { ...configured, database };
      const found = await prepareMarkerPlace(session, names, onlyLook);
      place = found.place ?? place;
      return { problem: found.problem, note: found.note };
    },
    async read(session, run) {
      const { table, others } = place;
      const isLost = run.unresolvedFences.length > 0;
      const look = async () => (await findMarkerTables(session, searchOf(names, isLost))).tables;
      const readIn = (tables: readonly string[]) => readTables(session, [...new Set([table, ...tables])], run);
      try {
        // The place of a lost attempt is not known: its agent may have had other rights or another configuration.
        return await readIn(isLost ? await look() : others);
      } catch (error) {
        if (!mysqlErrors.isServerError(error)) throw error;
        // A table of another database may have gone since then.
        return await readIn(await look());
      }
    },
    ownReader() {
      const { table } = place;
      return (session, run) => readTables(session, [table], run);
    },
    async ages(session) {
      const { tables } = await findMarkerTables(session, searchOf(names, false));
      const ages: TableAge[] = [];
      for (const table of new Set([place.table, ...tables])) ages.push(await ageOf(session, table));
      return ages;
    },
    // What this agent lost itself lies where it writes, or where it wrote before and may still read.
    hidden: async (session, run) => (run.lostByOthers ? await findHiddenTable(session, searchOf(names, false)) : null),
    open: (session, run, mode) => session.query(openText(place.table), [...keyOf(run), mode, run.agentId, run.approvalDigest]),
    async done(session, run, rowsAffected) {
      const set = `update ${place.table} set state = 'done', rows_affected = nullif(?, '') where ${IS_OWN}`;
      const rows = await session.change(set, [rowsAffected === null ? '' : String(rowsAffected), ...keyOf(run)]);
      if (rows !== 1) throw new Unexpected('the marker row of the attempt is gone');
    },
    remove: (session, run) => session.query(`delete from ${place.table} where ${IS_OWN} and state = 'open'`, keyOf(run)),
    async deleteOld(session, days) {
      let deleted = 0;
      for (const table of [place.table, ...place.older]) deleted += await deleteOldIn(session, table, days);
      return deleted;
    },
  };
}

const IS_OWN = 'request_id = ? and fence = ? and step = ? and execution_id = ?';
const keyOf = (run: Run) => [run.requestId, String(run.fence), run.step, run.executionId];

/**
 * A table of an earlier version has no execution id in its key. A row that conflicts there belongs to no attempt, because a fence
 * has one execution.
 */
const openText = (table: string) =>
  `insert into ${table} (request_id, fence, step, execution_id, mode, state, agent_id, approval_digest)
     values (?, ?, ?, ?, ?, 'open', ?, ?) on duplicate key update
     rows_affected = if(state = 'done' and execution_id = values(execution_id), rows_affected, null),
     mode = if(state = 'done' and execution_id = values(execution_id), mode, values(mode)),
     state = if(state = 'done' and execution_id = values(execution_id), state, 'open'),
     agent_id = values(agent_id), approval_digest = values(approval_digest), execution_id = values(execution_id)`;

async function readTables(session: MysqlSession, tables: readonly string[], run: Run): Promise<MarkerRow[]> {
  const rows: MarkerRow[] = [];
  for (const table of tables) rows.push(...(await readRows(session, table, run)));
  return rows;
}

async function ageOf(session: MysqlSession, table: string): Promise<TableAge> {
  const age = (since: string) => `timestampdiff(microsecond, ${since}, now(3)) / 1000`;
  const ours = 'coalesce(min(case when request_id = ? then created_at end), min(created_at))';
  const [row] = await session.query(`select ${age('min(created_at)')}, ${age(ours)} from ${table}`, [SINCE]);
  return tableAge(row);
}

/** All rows of the known attempts and a few others, however many and however long the planted ones are. */
async function readRows(session: MysqlSession, table: string, run: Run): Promise<MarkerRow[]> {
  const ids = [run.executionId, ...(run.unresolvedExecutions?.map(({ executionId }) => executionId) ?? [])];
  const fences = run.unresolvedExecutions === null ? run.unresolvedFences : [];
  const marks = (values: readonly unknown[]) => values.map(() => '?').join(', ');
  const known = `(execution_id in (${marks(ids)}) or fence in (${marks([0, ...fences])}))`;
  const values = [run.requestId, ...ids, ...[-1, ...fences].map(String)];
  const rows = await session.query(
    `(select ${MARKER_COLUMNS} from ${table} where request_id = ? and ${known})
     union all (select ${MARKER_COLUMNS} from ${table} where request_id = ? and not ${known} order by fence desc limit ${MAX_STRANGERS})`,
    [...values, ...values],
  );
  return rows.map(markerRow);
}

/** The isolation does not fit a binary log of statements. */
const CANNOT_BE_LOGGED = 1665;

/** First, the table says that it has rows since `days` ago: it no longer proves what an attempt before that did. */
async function deleteOldIn(session: MysqlSession, table: string, days: number): Promise<number> {
  const since = `now(3) - interval ${Math.floor(days)} day`;
  await session.run(`update ${table} set created_at = ${since} where request_id = '${SINCE}' and created_at < ${since}`);
  const text = `delete from ${table} where created_at < ${since} and request_id <> '${SINCE}'`;
  const deleteIn = async (isolation: 'read committed' | 'repeatable read') => {
    await session.run(`set transaction isolation level ${isolation}`);
    return (await session.run(text)).affected;
  };
  // With `repeatable read` the search for old rows locks all of them, and jobs that write markers wait.
  return await deleteIn('read committed').catch((error: unknown) => {
    if (asMysqlError(error)?.errno === CANNOT_BE_LOGGED) return deleteIn('repeatable read');
    throw error;
  });
}
