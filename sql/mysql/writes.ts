import type { FixedColumn } from '../../domain/statement.js';
import { allOf } from '../condition.js';
import { fixedColumns } from '../fixed-columns.js';
import { restricts } from '../restricts.js';
import { readMysqlCondition } from './condition.js';
import { conditionsIn } from './condition-query.js';
import { copyOf, levelOf, type MysqlScope, type Range, shownAs } from './condition-scope.js';
import { hasWords, type MysqlStatement, nameOf, upperAt } from './statement.js';
import type { TableReference } from './tables.js';

/** An UPDATE or DELETE: its tables, those whose rows it writes, and the position of its WHERE. */
export interface MysqlWrite {
  readonly verbAt: number;
  readonly whereAt: number;
  readonly main: readonly TableReference[];
  readonly written: readonly TableReference[];
  readonly references: readonly TableReference[];
}

/**
 * Whether the statement selects among the rows it writes (HD-22): by its WHERE alone, or together with join conditions on columns of the written
 * table.
 */
export function selectsRows(statement: MysqlStatement, write: MysqlWrite): boolean {
  const { main, written } = write;
  const scopeOf = (targets: readonly TableReference[]) => scopeIn(statement, { ...write, main: targets }, copyOf(main));
  const where = whereOf(statement, write.whereAt);
  if (!restricts(readMysqlCondition(where, scopeOf(main)))) return false;
  const joins = { from: write.verbAt + 1, to: write.whereAt };
  if (levelOf(joins, scopeOf(main)).some((at) => joinsByName(statement, at))) return true;
  const scope = scopeOf(written);
  return restricts(allOf([readMysqlCondition(where, scope), ...conditionsIn(joins, scope)]));
}

/** The columns that the WHERE of a statement on one table compares with constants (HD-96). */
export function fixedIn(statement: MysqlStatement, write: MysqlWrite): FixedColumn[] {
  const condition = readMysqlCondition(whereOf(statement, write.whereAt), scopeIn(statement, write, copyOf(write.main)));
  return fixedColumns(condition, 'text');
}

const scopeIn = (statement: MysqlStatement, { main, references }: MysqlWrite, isCopy: MysqlScope['isCopy']): MysqlScope => ({
  statement,
  references,
  inner: false,
  isCopy,
  read: readMysqlCondition,
  work: { depth: 0, tokens: 4_000 + maxReads * statement.tokens.length },
  targets: new Set(main.map(shownAs)),
});

const maxReads = 16;

/** The WHERE clause, up to ORDER BY, LIMIT and RETURNING. */
export function whereOf(statement: MysqlStatement, whereAt: number): Range {
  const end = statement.tokens.findIndex(
    ({ upper, dotted }, at) => at > whereAt && !dotted && statement.depths[at] === 0 && /^(ORDER|LIMIT|RETURNING)$/.test(upper),
  );
  return { from: whereAt + 1, to: end === -1 ? statement.tokens.length : end };
}

/** The tables that SET names before a column; all tables if any column is bare. */
export function writtenBy(
  statement: MysqlStatement,
  setAt: number,
  end: number,
  main: readonly TableReference[],
): TableReference[] {
  const starts = [setAt, ...commasIn(statement, setAt, end)].map((at) => at + 1);
  const names = starts.map((at) => (hasWords(statement, at + 1, '.') ? nameBefore(statement, at) : null));
  return names.includes(null) ? [...main] : main.filter((each) => names.includes(shownAs(each)));
}

/** The table of `t.a` or `s.t.a`. */
function nameBefore(statement: MysqlStatement, at: number): string | null {
  const tableAt = hasWords(statement, at + 3, '.') ? at + 2 : at;
  return nameOf(statement.tokens[tableAt])?.toLowerCase() ?? null;
}

const commasIn = (statement: MysqlStatement, from: number, to: number): number[] =>
  statement.tokens.flatMap(({ upper }, at) => (at > from && at < to && upper === ',' && statement.depths[at] === 0 ? [at] : []));

const joinsByName = (statement: MysqlStatement, at: number): boolean =>
  upperAt(statement, at) === 'NATURAL' || hasWords(statement, at, 'USING', '(');
