import type { SchemaSnapshot, SearchPaths, SnapshotConstraint, SnapshotTable } from '../../domain/snapshot.js';
import { asServerError } from '../drivers/postgres/errors.js';
import type { Step } from '../drivers/postgres/exchange.js';
import { SEARCHED } from '../drivers/postgres/search-path.js';
import type { PostgresSession } from '../drivers/postgres/session.js';
import { appliedVersions, MAX_VERSIONS } from './applied.js';
import { endAfter } from './end-after.js';
import { assembleCode, userCode } from './postgres-code.js';
import { CODE, EXPRESSIONS, HALF_SEEN, KEYS, NAMESAKES, TRIGGERS, USER_CODE } from './postgres-code-queries.js';
import { COLUMNS, CONSTRAINTS, INDEXES, TABLES } from './postgres-queries.js';
import { byTable, checkSize, type Row, text } from './rows.js';

/**
 * The tables that the session's role sees (AP-61 to AP-63), read in one read-only transaction at one instant; takes at most
 * `timeoutMs`. `writePath` is the write role's path as JSON text; null when that role is the same. Throws the server's error,
 * SnapshotTooLarge, or Interrupted when the signal aborts.
 */
export async function collectPostgresSnapshot(
  session: PostgresSession,
  writePath: string | null,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<SchemaSnapshot> {
  const steps = [TABLES, COLUMNS, CONSTRAINTS, INDEXES, USER_CODE, TRIGGERS, CODE, EXPRESSIONS, KEYS, NAMESAKES, HALF_SEEN].map(
    (text): Step => ({ kind: 'run', text }),
  );
  return await endAfter(session, { timeoutMs, signal }, async () => {
    const results = await session.exchange([
      { kind: 'run', text: 'begin isolation level repeatable read read only' },
      {
        kind: 'run',
        text: `select pg_catalog.set_config('statement_timeout', $1, true), pg_catalog.set_config('jit', 'off', true)`,
        values: [String(timeoutMs)],
      },
      { kind: 'run', text: PATHS, values: [writePath ?? '[]'] },
      { kind: 'run', text: TRACKING, values: [writePath ?? ''] },
      ...steps,
    ]);
    const [paths = [], tracking = [], ...found] = results.slice(2).map(({ rows }) => rows);
    checkSize(found);
    const applied_versions = await readApplied(session, tracking[0]);
    return { ...assemble(found), search_path: searchPaths(paths[0] ?? [], writePath), applied_versions };
  });
}

/** Read last, so that whatever hides the versions costs only these. */
async function readApplied(session: PostgresSession, tracking: Row | undefined): Promise<string[] | null> {
  const [name, isReadable] = tracking ?? [];
  const select = `select version::text from ${text(name)} where version is not null limit ${MAX_VERSIONS + 1}`;
  const rows = isReadable === 't' ? await session.query(select).catch(refused) : null;
  await session.query('rollback');
  if (tracking === undefined) return [];
  return rows === null ? null : appliedVersions(rows);
}

function refused(error: unknown): null {
  if (asServerError(error) === null) throw error;
  return null;
}

/** The tracking table on the path of the role that writes (MI-20), and whether this role may read its versions. A view may show other data. */
const TRACKING = `
  select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname),
    c.relkind in ('r', 'p') and coalesce(pg_catalog.has_schema_privilege(n.oid, 'USAGE')
      and (select pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') from pg_catalog.pg_attribute a
           where a.attrelid = c.oid and a.attname = 'version' and a.attnum > 0 and not a.attisdropped), false)
  from pg_catalog.json_array_elements_text(coalesce(nullif($1, ''), ${SEARCHED})::json) with ordinality as path (schema, place)
    join pg_catalog.pg_namespace n on n.nspname = path.schema
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = 'schema_migrations'
  where c.relkind in ('r', 'p', 'v', 'm', 'f') order by path.place limit 1`;

function assemble([tables = [], columns = [], constraints = [], indexes = [], made = [], ...code]: Row[][]): SchemaSnapshot {
  const codeOf = assembleCode(code);
  const columnsOf = byTable(columns, columnOf);
  const constraintsOf = byTable(constraints, constraintOf);
  const indexesOf = byTable(indexes, indexOf);
  return {
    tables: tables.map(([oid, schema, name, rows]) => ({
      name: text(name),
      schema_name: text(schema),
      estimated_rows: Math.max(-1, Number(rows)),
      columns: columnsOf.get(text(oid)) ?? [],
      constraints: constraintsOf.get(text(oid)) ?? [],
      indexes: indexesOf.get(text(oid)) ?? [],
      ...codeOf(text(oid)),
    })),
    user_code: userCode(made),
  };
}

/** This session's path, and the schemas of the other path whose tables this role cannot see (AP-63). */
const PATHS = `select ${SEARCHED}, (select pg_catalog.json_agg(schema)::text from pg_catalog.json_array_elements_text($1::json) as schema
  where not exists (select 1 from pg_catalog.pg_namespace n where n.nspname = schema and pg_catalog.has_schema_privilege(n.oid, 'USAGE')))`;

const searchPaths = ([read, unseen]: Row, writePath: string | null): SearchPaths => ({
  read: names(read),
  write: names(writePath ?? read),
  unseen: names(unseen),
});

function columnOf([name, type, nullable, fallback, isKey]: Row): SnapshotTable['columns'][number] {
  return {
    name: text(name),
    data_type: text(type),
    nullable: nullable === 't',
    default_value: fallback ?? null,
    is_primary_key: isKey === 't',
  };
}

function indexOf([name, unique, method, keys]: Row): SnapshotTable['indexes'][number] {
  return { name: text(name), columns: names(keys), is_unique: unique === 't', index_type: text(method) };
}

type Kind = SnapshotConstraint['constraint_type'];
type Action = NonNullable<SnapshotConstraint['on_delete']>;

const kinds: Record<string, Kind> = { p: 'primary_key', f: 'foreign_key', u: 'unique', c: 'check' };
const actions: Record<string, Action> = { a: 'NO_ACTION', r: 'RESTRICT', c: 'CASCADE', n: 'SET_NULL', d: 'SET_DEFAULT' };

function constraintOf([name, letter, columns, schema, table, referenced, onDelete, onUpdate]: Row): SnapshotConstraint {
  const kind = kinds[text(letter)] ?? 'check';
  const isReference = kind === 'foreign_key';
  return {
    name: text(name),
    constraint_type: kind,
    columns: names(columns),
    referenced_table: isReference ? text(table) : null,
    referenced_columns: isReference ? names(referenced) : null,
    on_delete: isReference ? (actions[text(onDelete)] ?? 'NO_ACTION') : null,
    on_update: isReference ? (actions[text(onUpdate)] ?? 'NO_ACTION') : null,
    referenced_schema: isReference ? text(schema) : null,
  };
}

const names = (json: string | null | undefined): string[] => JSON.parse(json ?? '[]') as string[];
