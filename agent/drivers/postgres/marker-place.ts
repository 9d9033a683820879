import { MARKER_SCHEMA } from '../../../sql/reserved-table.js';
import { MISSING_TABLE, postgresMarkerDdl, SINCE } from '../../marker.js';
import { asServerError } from './errors.js';
import { findOlderTables } from './older-markers.js';
import type { PostgresSession } from './session.js';

/** The SQLSTATEs of a server that ends or starts. */
const SHUTDOWN = '57P';

/** The marker table as configured. */
export interface MarkerNames {
  schema: string | null;
  table: string;
}

/** Where marker rows are written, and where older agent versions may have written some. */
export interface MarkerPlace {
  /** Quoted, with its schema, so that no search path of a text can lead to another table. */
  table: string;
  /** The name of its primary key, quoted. */
  key: string;
  /** Whether its rows lie in partitions. */
  partitioned: boolean;
  older: readonly string[];
}

/** To read more of the older tables would slow every write. For a lost attempt all are read, which other agents may have made by now. */
const MOST_READ = 5;

type Prepared = { place: MarkerPlace; note: string | null } | Missing;

/** Why there is no place. Where the `schema` is missing another place may do; a missing `table` the agent creates at its start. */
interface Missing {
  problem: string;
  lacks: 'schema' | 'table' | 'rights';
}

/**
 * The table in the configured schema; else in the dedicated markers schema; else, where the role may not create that, in the
 * first schema of its path (HD-40). Leaves nothing behind except, unless `onlyLook`, schema and table.
 */
export async function prepareMarkerPlace(session: PostgresSession, names: MarkerNames, onlyLook: boolean): Promise<Prepared> {
  const { schema } = names;
  const wanted = schema ?? MARKER_SCHEMA;
  const trying = prepareIn(session, wanted, names, { onlyLook, mayMakeSchema: schema === null });
  const found = schema === null ? await trying.catch((error: unknown) => refusedBy(error, session)) : await trying;
  if (schema !== null || 'place' in found || found.lacks === 'table') return found;
  const [first] = (await session.query('select current_schema()'))[0] ?? [];
  if (!first) return { problem: 'no schema in the search path', lacks: 'schema' };
  const beside = await prepareIn(session, first, names, { onlyLook, mayMakeSchema: false });
  const note = `in schema ${first}, because of the own one: ${found.problem}`;
  if ('place' in beside) return { ...beside, note };
  return found.lacks === 'schema' ? beside : found;
}

/** The server's error only decides where to look next. */
async function refusedBy(error: unknown, session: PostgresSession): Promise<Missing> {
  const missing = missingBy(error);
  await session.query('rollback');
  return missing;
}

/** What is missing, by the server's error; throws the error when it does not tell, as when the server shuts down. */
export function missingBy(error: unknown): Missing {
  const server = asServerError(error);
  if (!server || server.code.startsWith(SHUTDOWN)) throw error;
  return { problem: `${server.message} (SQLSTATE ${server.code})`, lacks: 'rights' };
}

async function prepareIn(
  session: PostgresSession,
  schema: string,
  { schema: configured, table: name }: MarkerNames,
  { onlyLook, mayMakeSchema }: { onlyLook: boolean; mayMakeSchema: boolean },
): Promise<Prepared> {
  const table = `${quoted(schema)}.${quoted(name)}`;
  if ((await lookAt(session, table)) === null) {
    const missing = await whyMissing(session, schema, mayMakeSchema);
    if (missing !== null) return missing;
    if (onlyLook) return { problem: MISSING_TABLE, lacks: 'table' };
    await make(session, table, mayMakeSchema ? quoted(schema) : null);
  }
  const found = await lookAt(session, table);
  if (found === null) return { problem: MISSING_TABLE, lacks: 'table' };
  if ('problem' in found) return found;
  await tryRights(session, table);
  if (!onlyLook) await addSince(session, table);
  const readable = await findOlderTables(session, { schema: configured, name, table });
  const older = readable.filter(({ trusted }) => trusted).slice(0, MOST_READ);
  return { place: { table, ...found, older: older.map((one) => one.table) }, note: null };
}

/**
 * The table's primary key, or why the table is unsuitable; null when it does not exist. Nothing attached to the table may run
 * code with the agent's privileges, and its rows must outlive a crash.
 */
async function lookAt(
  session: PostgresSession,
  table: string,
): Promise<Pick<MarkerPlace, 'key' | 'partitioned'> | Missing | null> {
  const [row] = await session.query(
    `select (c.relkind not in ('r', 'p') or c.relhastriggers or c.relhasrules or c.relrowsecurity)::text,
       (select pg_catalog.quote_ident(k.conname) from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.contype = 'p'),
       (c.relpersistence <> 'p')::text, (c.relkind = 'p')::text
     from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass($1)::oid`,
    [table],
  );
  if (row === undefined) return null;
  if (row[0] === 'true')
    return { problem: 'the marker table has triggers, rules or row security, or is no table', lacks: 'rights' };
  if (row[2] === 'true') return { problem: 'the marker table is unlogged or temporary: a crash would empty it', lacks: 'rights' };
  if (row[1] == null) return { problem: 'the marker table has no primary key', lacks: 'rights' };
  return { key: row[1], partitioned: row[3] === 'true' };
}

/** Why the role cannot create the table; null when it can. */
async function whyMissing(session: PostgresSession, schema: string, mayMakeSchema: boolean): Promise<Missing | null> {
  const [row] = await session.query(
    `select case when pg_catalog.to_regnamespace($1) is null then null else pg_catalog.has_schema_privilege(pg_catalog.to_regnamespace($1)::oid, 'CREATE') end::text,
       pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')::text`,
    [quoted(schema)],
  );
  const [inSchema, inDatabase] = row ?? [];
  if (inSchema === 'true' || (inSchema == null && mayMakeSchema && inDatabase === 'true')) return null;
  if (inSchema != null)
    return { problem: `the marker table does not exist, and the role lacks CREATE on schema ${schema}`, lacks: 'rights' };
  const why = mayMakeSchema ? ', and the role lacks CREATE on the database' : ' for the marker table';
  return { problem: `there is no schema ${schema}${why}`, lacks: 'schema' };
}

/** Concurrent creations collide in the catalogue in spite of IF NOT EXISTS; the other session has then created it. */
async function make(session: PostgresSession, table: string, schema: string | null): Promise<void> {
  try {
    if (schema !== null && (await session.query('select pg_catalog.to_regnamespace($1)::text', [schema]))[0]?.[0] == null)
      await session.query(`create schema if not exists ${schema}`);
  } catch (error) {
    if ((await session.query('select pg_catalog.to_regnamespace($1)::text', [schema ?? '']))[0]?.[0] == null) throw error;
  }
  try {
    await session.query(postgresMarkerDdl(table));
  } catch (error) {
    if ((await lookAt(session, table)) === null) throw error;
  }
}

/** Inserts, reads, updates and deletes a row in a transaction that is rolled back (AP-51). */
async function tryRights(session: PostgresSession, table: string): Promise<void> {
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
}

/** Says in a table without such a row since when agents of this version write there. Rows of earlier ones prove nothing of attempts of this. */
async function addSince(session: PostgresSession, table: string): Promise<void> {
  const text = `insert into ${table} (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest, created_at)
    select $1, 0, '', 'tx', 'open', '-', '-', '-', now()
    where not exists (select from ${table} where request_id = $1) on conflict do nothing`;
  await session.exchange([
    { kind: 'run', text: 'begin read write' },
    { kind: 'run', text, values: [SINCE] },
    { kind: 'run', text: 'commit' },
  ]);
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
