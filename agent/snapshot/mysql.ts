import type { SchemaSnapshot, SnapshotConstraint, SnapshotTable } from '../../domain/snapshot.js';
import { lexMysql } from '../../sql/mysql/lexer.js';
import { nameOf } from '../../sql/mysql/statement.js';
import { asMysqlError } from '../drivers/mysql/errors.js';
import { limitTime } from '../drivers/mysql/limits.js';
import type { MysqlSession } from '../drivers/mysql/session.js';
import { appliedVersions, MAX_VERSIONS } from './applied.js';
import { endAfter } from './end-after.js';
import { BETWEEN, checks, columns, indexes, KEYS, RULES, TABLES, TRIGGER_RIGHT, TRIGGERS } from './mysql-queries.js';
import { NoDatabaseNamed } from './no-snapshot.js';
import { byTable, checkSize, type Row, text } from './rows.js';

/** Names and expressions of one list stay far below it. */
const MAX_LIST_BYTES = 1_048_576;

/**
 * The tables of the session's database that its account sees (AP-61, AP-62, AP-64), read in one read-only transaction; takes at
 * most `timeoutMs`. Throws NoDatabaseNamed, the server's error, SnapshotTooLarge, or Interrupted when the signal aborts.
 */
export async function collectMysqlSnapshot(
  session: MysqlSession,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<SchemaSnapshot> {
  return await endAfter(session, { timeoutMs, signal }, async () => {
    await limitTime(session, timeoutMs / 1000);
    await session.run(`set session group_concat_max_len = ${MAX_LIST_BYTES}`);
    await session.run('set transaction isolation level repeatable read');
    await session.run('start transaction with consistent snapshot, read only');
    const [[schema] = []] = await session.query('select database()');
    if (!schema) throw new NoDatabaseNamed();
    const found: Row[][] = [];
    for (const sql of [TABLES, columns(session), KEYS, RULES, checks(session), indexes(session), TRIGGERS, TRIGGER_RIGHT])
      found.push(await session.query(sql));
    const applied_versions = await readApplied(session, found);
    await session.run('rollback');
    checkSize(found);
    // Table expressions call only built-in functions, which nothing can replace.
    return {
      tables: assemble(schema, found),
      user_code: { functions: [], fields: [], operators: [], casts: [] },
      applied_versions,
    };
  });
}

/** The applied versions, if the tracking table is a table and has the column (MI-20); a view may show other data. */
async function readApplied(session: MysqlSession, [tables = [], described = []]: Row[][]): Promise<string[] | null> {
  if (!tables.some(([name]) => name === TRACKING)) return [];
  if (!described.some(([table, column]) => table === TRACKING && column === 'version')) return null;
  try {
    return appliedVersions(
      await session.query(
        `select convert(version using utf8mb4) from ${TRACKING} where version is not null limit ${MAX_VERSIONS + 1}`,
      ),
    );
  } catch (error) {
    if (asMysqlError(error) === null) throw error;
    return null;
  }
}

const TRACKING = 'schema_migrations';

function assemble(
  schema: string,
  [tables = [], described = [], keys = [], rules = [], checked = [], indexed = [], triggers = [], right = []]: Row[][],
) {
  const columnsOf = byTable(described, columnOf);
  const rulesOf = byTable(rules, ([name, ...rule]): [string, Row] => [text(name), rule]);
  const triggersOf = byTable(triggers, ([name]) => text(name));
  const keysOf = byTable(keys, (row) => row);
  const checksOf = byTable(checked, (row) => row);
  const indexesOf = byTable(indexed, indexOf);
  return tables
    .map(([name, rows, transactional]): SnapshotTable => {
      const table = text(name);
      const own = columnsOf.get(table) ?? [];
      const ruleOf = new Map(rulesOf.get(table));
      const constraints = [
        ...(keysOf.get(table) ?? []).map((row) => keyOf(row, ruleOf)),
        ...(checksOf.get(table) ?? []).map((row) => checkOf(row, new Set(own.map((column) => column.name)))),
      ];
      const primary = new Set(constraints.find((one) => one.constraint_type === 'primary_key')?.columns);
      return {
        name: table,
        schema_name: schema,
        estimated_rows: rows == null ? -1 : Number(rows),
        ...(transactional === '0' ? { transactional: false } : {}),
        columns: own.map((column) => ({ ...column, is_primary_key: primary.has(column.name) })),
        constraints: constraints.sort((one, other) => byName(one, other) || byKind(one, other)),
        indexes: (indexesOf.get(table) ?? []).sort(byName),
        triggers: right.length > 0 ? (triggersOf.get(table) ?? []) : null,
        code: [],
        keys: uniqueIn(indexesOf.get(table) ?? [], own),
        has_namesakes: false,
      };
    })
    .sort(byName);
}

/** The columns of each unique index without expressions. */
function uniqueIn(indexes: SnapshotTable['indexes'], columns: SnapshotTable['columns']): string[][] {
  const names = new Set(columns.map(({ name }) => name));
  const unique = indexes.filter((index) => index.is_unique && index.columns.every((column) => names.has(column)));
  return unique.map((index) => [...index.columns]);
}

/** The constraint gives the primary key: `PRI` also marks a unique key of a table without a primary key. */
function columnOf([name, type, nullable, fallback, generated]: Row): SnapshotTable['columns'][number] {
  return {
    name: text(name),
    data_type: text(type),
    nullable: nullable === 'YES',
    default_value: text(generated) === '' ? (fallback ?? null) : null,
    is_primary_key: false,
  };
}

type Action = NonNullable<SnapshotConstraint['on_delete']>;

const actions: Record<string, Action> = {
  CASCADE: 'CASCADE',
  RESTRICT: 'RESTRICT',
  'NO ACTION': 'NO_ACTION',
  'SET NULL': 'SET_NULL',
  'SET DEFAULT': 'SET_DEFAULT',
};

function keyOf([name, columns, schema, table, referenced]: Row, rules: ReadonlyMap<string, Row>): SnapshotConstraint {
  if (table == null) return constraint(name, name === 'PRIMARY' ? 'primary_key' : 'unique', names(columns));
  return {
    ...constraint(name, 'foreign_key', names(columns)),
    referenced_table: table,
    referenced_columns: names(referenced),
    // Visible only to accounts that may do more than SELECT.
    on_delete: actions[text(rules.get(text(name))?.[0])] ?? null,
    on_update: actions[text(rules.get(text(name))?.[1])] ?? null,
    referenced_schema: text(schema),
  };
}

/** The columns in order of first mention in the condition; none when it cannot be parsed. */
function checkOf([name, condition]: Row, columns: ReadonlySet<string>): SnapshotConstraint {
  const clause = text(condition);
  // MySQL returns texts in the condition with escaped quotes.
  const lexed = [clause, clause.replaceAll("\\'", "'")].map(lexMysql).find(({ ok }) => ok);
  const named = lexed?.ok ? lexed.tokens.flatMap((token) => (token.kind === 'name' ? [nameOf(token) ?? ''] : [])) : [];
  return constraint(
    name,
    'check',
    [...new Set(named)].filter((column) => columns.has(column)),
  );
}

function constraint(name: Row[number] | undefined, kind: SnapshotConstraint['constraint_type'], of: readonly string[]) {
  const none = { referenced_table: null, referenced_columns: null, on_delete: null, on_update: null, referenced_schema: null };
  return { name: text(name), constraint_type: kind, columns: of, ...none };
}

function indexOf([name, unique, type, columns]: Row): SnapshotTable['indexes'][number] {
  return { name: text(name), columns: names(columns), is_unique: unique === '1', index_type: text(type) };
}

/** Names here have no characters beyond U+FFFF, so this is byte order. */
const byName = (one: { name: string }, other: { name: string }): number =>
  one.name < other.name ? -1 : one.name > other.name ? 1 : 0;

/** A foreign key may have the name of another key of its table. */
const byKind = (one: SnapshotConstraint, other: SnapshotConstraint): number =>
  one.constraint_type < other.constraint_type ? -1 : 1;

const names = (list: string | null | undefined): string[] => (list == null ? [] : list.split(BETWEEN));
