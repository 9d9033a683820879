import { randomUUID } from 'node:crypto';
import { MISSING_TABLE, markerRow, mysqlMarkerDdl } from '../../marker.js';
import type { Run } from '../driver.js';
import type { Marker } from '../engine.js';
import { Unexpected } from '../faults.js';
import { asMysqlError, mysqlErrors } from './errors.js';
import { type MysqlSession, quoted } from './session.js';

const DATABASE_DENIED = 1044;
const TABLE_DENIED = 1142;
const NO_SUCH_TABLE = 1146;

export interface MysqlMarker extends Marker<MysqlSession> {
  done(session: MysqlSession, run: Run, rowsAffected: number | null): Promise<unknown>;
  remove(session: MysqlSession, run: Run): Promise<unknown>;
}

/** The marker table in `schema`, else in the database of the address; null where neither is named. */
export function createMysqlMarker({ schema, table: name }: { schema: string | null; table: string }): MysqlMarker {
  const table = schema === null ? quoted(name) : `${quoted(schema)}.${quoted(name)}`;
  const insert = `insert into ${table} (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest) values`;
  return {
    async prepare(session, onlyLook) {
      if (schema === null) return 'the address names no database, and [marker] schema is not set';
      try {
        let engine = await engineOf(session, schema, name);
        if (engine === undefined) {
          if (onlyLook) return await missingTable(session, table, schema);
          await session.run(mysqlMarkerDdl(table));
          engine = await engineOf(session, schema, name);
        }
        if (engine?.toLowerCase() !== 'innodb') return 'the marker table is not of the engine InnoDB';
        await tryRights(session, table, insert);
        return null;
      } catch (error) {
        const server = asMysqlError(error);
        if (!server || mysqlErrors.isConnectivityError(error)) throw error;
        return `${server.message} (error ${server.errno})`;
      }
    },
    async read(session, requestId) {
      const rows = await session.query(`select fence, mode, state, rows_affected, step from ${table} where request_id = ?`, [
        requestId,
      ]);
      return rows.map(markerRow);
    },
    open: (session, run, mode) =>
      session.query(
        `${insert} (?, ?, ?, ?, 'open', ?, ?, ?) on duplicate key update execution_id = if(state = 'open', values(execution_id), execution_id),
           agent_id = if(state = 'open', values(agent_id), agent_id), mode = if(state = 'open', values(mode), mode)`,
        [run.requestId, String(run.fence), run.step, mode, run.executionId, run.agentId, run.approvalDigest],
      ),
    done: (session, run, rowsAffected) =>
      session.query(
        `update ${table} set state = 'done', rows_affected = nullif(?, '') where request_id = ? and fence = ? and step = ?`,
        [rowsAffected === null ? '' : String(rowsAffected), run.requestId, String(run.fence), run.step],
      ),
    remove: (session, run) =>
      session.query(`delete from ${table} where request_id = ? and fence = ? and step = ? and state = 'open'`, [
        run.requestId,
        String(run.fence),
        run.step,
      ]),
    async deleteOld(session, days) {
      // Else the search for old rows locks all of them, and the jobs that write markers wait.
      await session.run('set transaction isolation level read committed');
      const { affected } = await session.run(`delete from ${table} where created_at < now() - interval ${Math.floor(days)} day`);
      return affected;
    },
  };
}

async function engineOf(session: MysqlSession, schema: string, table: string): Promise<string | null | undefined> {
  const sql = 'select engine from information_schema.tables where table_schema = ? and table_name = ?';
  return (await session.query(sql, [schema, table]))[0]?.[0];
}

/** What becomes of a table that is not there, for somebody who only looks (AP-52). A statement that can only fail, for want of its model, tells the rights first. */
async function missingTable(session: MysqlSession, table: string, schema: string): Promise<string> {
  try {
    await session.run(`create table ${table} like ${quoted(schema)}.${quoted(`-${randomUUID()}`)}`);
    throw new Unexpected('a table was made like one that is not there');
  } catch (error) {
    const { errno, message } = asMysqlError(error) ?? {};
    if (errno === NO_SUCH_TABLE) return MISSING_TABLE;
    if (errno !== TABLE_DENIED && errno !== DATABASE_DENIED) throw error;
    const right = /^([A-Z]+) command denied/.exec(message ?? '')?.[1] ?? 'CREATE';
    return `the marker table does not exist, and the account lacks ${right} on database ${schema}`;
  }
}

/** Inserts, reads, updates and deletes a row of its own in a transaction that is rolled back (AP-51). */
async function tryRights(session: MysqlSession, table: string, insert: string): Promise<void> {
  // By the whole key: a search by a part of it locks the gaps around, and agents that start together would meet there.
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
