import type { SchemaSnapshot, SnapshotConstraint, SnapshotTable } from '../../domain/schema-snapshot.js';
import { Interrupted } from '../drivers/faults.js';
import type { Step } from '../drivers/postgres-exchange.js';
import type { PostgresSession } from '../drivers/postgres-session.js';
import { COLUMNS, CONSTRAINTS, INDEXES, MAX_ROWS, TABLES } from './postgres-queries.js';
import { SnapshotTooLarge } from './snapshot-too-large.js';

/** How far this side's deadline for the whole lies behind the server's for each statement. */
const GRACE_MS = 2000;

type Row = (string | null)[];

/**
 * What the session's role sees of the tables (AP-61 to AP-63), from one read-only transaction that sees one instant; takes at most `timeoutMs`. Throws the
 * server's error, SnapshotTooLarge, or Interrupted when the signal aborts.
 */
export async function collectPostgresSchema(
  session: PostgresSession,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<SchemaSnapshot> {
  const steps = [TABLES, COLUMNS, CONSTRAINTS, INDEXES].map((text): Step => ({ kind: 'run', text }));
  const end = () => session.destroy();
  // Not AbortSignal.any: each of its signals leaves an entry in `signal` for as long as the process lives.
  const timer = setTimeout(end, timeoutMs + GRACE_MS);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    const results = await session.exchange([
      { kind: 'run', text: 'begin isolation level repeatable read read only' },
      {
        kind: 'run',
        text: `select pg_catalog.set_config('statement_timeout', $1, true), pg_catalog.set_config('jit', 'off', true)`,
        values: [String(timeoutMs)],
      },
      ...steps,
      { kind: 'run', text: 'rollback' },
    ]);
    const [tables = [], columns = [], constraints = [], indexes = []] = results.slice(2, -1).map(({ rows }) => rows);
    if ([tables, columns, constraints, indexes].some((rows) => rows.length >= MAX_ROWS)) throw new SnapshotTooLarge();
    return assemble(tables, columns, constraints, indexes);
  } catch (error) {
    throw signal.aborted ? new Interrupted() : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

function assemble(tables: Row[], columns: Row[], constraints: Row[], indexes: Row[]): SchemaSnapshot {
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
    })),
  };
}

/** Rows that begin with the oid of their table, in their order. */
function byTable<T>(rows: Row[], read: (row: Row) => T): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const [oid, ...row] of rows) {
    const same = found.get(text(oid));
    if (same) same.push(read(row));
    else found.set(text(oid), [read(row)]);
  }
  return found;
}

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

function constraintOf([name, letter, columns, schema, table, referenced, action]: Row): SnapshotConstraint {
  const kind = kinds[text(letter)] ?? 'check';
  const isReference = kind === 'foreign_key';
  return {
    name: text(name),
    constraint_type: kind,
    columns: names(columns),
    referenced_table: isReference ? text(table) : null,
    referenced_columns: isReference ? names(referenced) : null,
    on_delete: isReference ? (actions[text(action)] ?? 'NO_ACTION') : null,
    referenced_schema: isReference ? text(schema) : null,
  };
}

const text = (value: string | null | undefined): string => value ?? '';
const names = (json: string | null | undefined): string[] => JSON.parse(json ?? '[]') as string[];
