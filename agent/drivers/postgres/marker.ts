import { MISSING_TABLE, markerRow, postgresMarkerDdl } from '../../marker.js';
import type { Run } from '../driver.js';
import type { Marker } from '../engine.js';
import { asServerError } from './errors.js';
import type { Step } from './exchange.js';
import type { PostgresSession } from './session.js';

/** The statements on the marker table as steps, so that they travel with others. */
export interface PostgresMarker extends Marker<PostgresSession> {
  openStep(run: Run, mode: 'tx' | 'auto'): Step;
  done(run: Run, rowsAffected: number | null): Step;
  remove(run: Run): Step;
}

export function createPostgresMarker(options: { schema: string | null; table: string }): PostgresMarker {
  let table = quotedTable(options.schema, options.table);
  const openStep = (run: Run, mode: string): Step => ({
    kind: 'run',
    text: `insert into ${table} (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest)
        values ($1, $2, $7, $3, 'open', $4, $5, $6)
        on conflict (request_id, fence, step) do update
        set mode = excluded.mode, execution_id = excluded.execution_id, agent_id = excluded.agent_id where ${table}.state = 'open'`,
    values: [run.requestId, String(run.fence), mode, run.executionId, run.agentId, run.approvalDigest, run.step],
  });
  return {
    openStep,
    async prepare(session, onlyLook) {
      try {
        // The name is fixed once, so that no search path of a later text can lead to another table.
        const schema = options.schema ?? (await session.query('select current_schema()'))[0]?.[0];
        if (!schema) return 'no schema in the search path';
        table = quotedTable(schema, options.table);
        if (!(await exists(session, table))) {
          if (onlyLook) return await missingTable(session, schema);
          await makeTable(session, table);
        }
        return await tryRights(session, table);
      } catch (error) {
        const server = asServerError(error);
        if (!server || server.code.startsWith('57P')) throw error;
        return `${server.message} (SQLSTATE ${server.code})`;
      }
    },
    async read(session, requestId) {
      const rows = await session.query(`select fence, mode, state, rows_affected, step from ${table} where request_id = $1`, [
        requestId,
      ]);
      return rows.map(markerRow);
    },
    open: (session, run, mode) => session.exchange([openStep(run, mode)]),
    done: (run, rowsAffected) => ({
      kind: 'run',
      text: `update ${table} set state = 'done', rows_affected = nullif($3, '')::bigint where request_id = $1 and fence = $2 and step = $4`,
      values: [run.requestId, String(run.fence), rowsAffected === null ? '' : String(rowsAffected), run.step],
    }),
    remove: (run) => ({
      kind: 'run',
      text: `delete from ${table} where request_id = $1 and fence = $2 and step = $3 and state = 'open'`,
      values: [run.requestId, String(run.fence), run.step],
    }),
    async deleteOld(session, days) {
      const [result] = await session.exchange([
        {
          kind: 'run',
          text: `delete from ${table} where created_at < now() - make_interval(days => $1)`,
          values: [String(days)],
        },
      ]);
      return Number(/^DELETE (\d+)$/.exec(result?.tag ?? '')?.[1] ?? 0);
    },
  };
}

async function exists(session: PostgresSession, table: string): Promise<boolean> {
  const [found] = await session.query('select pg_catalog.to_regclass($1)::text', [table]);
  return found?.[0] != null;
}

/** What becomes of a table that is not there, for somebody who only looks (AP-52). */
async function missingTable(session: PostgresSession, schema: string): Promise<string> {
  const [found] = await session.query("select pg_catalog.has_schema_privilege($1, 'CREATE')::text", [schema]);
  return found?.[0] === 'true' ? MISSING_TABLE : `the marker table does not exist, and the role lacks CREATE on schema ${schema}`;
}

/** Two that make it at once collide in the catalogue in spite of IF NOT EXISTS; then the other one has made it. */
async function makeTable(session: PostgresSession, table: string): Promise<void> {
  try {
    await session.query(postgresMarkerDdl(table));
  } catch (error) {
    if (!(await exists(session, table))) throw error;
  }
}

/** Inserts, reads, updates and deletes a row in a transaction that is rolled back (AP-51). */
async function tryRights(session: PostgresSession, table: string): Promise<null> {
  await session.exchange([
    { kind: 'run', text: 'begin read write' },
    {
      kind: 'run',
      text: `insert into ${table} (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest) values ('-', 0, '', 'tx', 'open', '-', '-', '-')`,
    },
    { kind: 'run', text: `select mode, state, rows_affected, created_at from ${table} where request_id = '-'` },
    { kind: 'run', text: `update ${table} set state = 'done', rows_affected = 0 where request_id = '-'` },
    { kind: 'run', text: `delete from ${table} where request_id = '-'` },
    { kind: 'run', text: 'rollback' },
  ]);
  return null;
}

function quotedTable(schema: string | null, table: string): string {
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
  return schema === null ? quoted(table) : `${quoted(schema)}.${quoted(table)}`;
}
