import type { FixedColumn, TableName } from '../../domain/statement.js';
import { allOf } from '../condition.js';
import { fixedColumns } from '../fixed-columns.js';
import { restricts } from '../restricts.js';
import { readMysqlCondition } from './condition.js';
import { conditionsIn, joinWords } from './condition-query.js';
import { copyOf, type MysqlScope, type Range } from './condition-scope.js';
import type { MysqlToken } from './lexer.js';
import { meantBy, onlyMeantBy, shownAs } from './named-table.js';
import { hasWords, type MysqlStatement, nameOf, skipWords, upperAt } from './statement.js';
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
  const from = tablesAt(statement, write.verbAt);
  const main = ofStatement(write.main).filter(({ at }) => at >= from);
  const named = write.written.map((one) => onlyMeantBy({ schema: one.schema, name: shownAs(one) }, main));
  const written = main.filter((one) => named.includes(one));
  const scopeOf = (targets: readonly TableReference[]) => scopeIn(statement, { ...write, main }, targets);
  const where = whereOf(statement, write.whereAt);
  if (!restricts(readMysqlCondition(where, scopeOf(main)))) return false;
  const joins = { from, to: write.whereAt };
  if (joinWords(joins, scopeOf(main)).some((at) => joinsByName(statement, at))) return true;
  const scope = scopeOf(written);
  return restricts(allOf([readMysqlCondition(where, scope), ...conditionsIn(joins, scope)]));
}

/** Where the tables begin: behind the USING of `DELETE FROM t USING …`, which joins nothing. */
function tablesAt(statement: MysqlStatement, verbAt: number): number {
  const isList =
    upperAt(statement, verbAt) === 'DELETE' && hasWords(statement, skipWords(statement, verbAt + 1, modifiers), 'FROM');
  const using = ({ upper, dotted }: MysqlToken, at: number) =>
    at > verbAt && upper === 'USING' && !dotted && statement.depths[at] === 0;
  return 1 + (isList ? Math.max(verbAt, statement.tokens.findIndex(using)) : verbAt);
}

const modifiers = new Set(['LOW_PRIORITY', 'QUICK', 'IGNORE']);

/** The columns that the WHERE of a statement on one table compares with constants (HD-96). */
export function fixedIn(statement: MysqlStatement, write: MysqlWrite): FixedColumn[] {
  const where = whereOf(statement, write.whereAt);
  return fixedColumns(readMysqlCondition(where, scopeIn(statement, write, ofStatement(write.main))), 'text');
}

const scopeIn = (
  statement: MysqlStatement,
  { main, references }: MysqlWrite,
  targets: readonly TableReference[],
): MysqlScope => ({
  statement,
  references,
  tables: ofStatement(main),
  targets,
  inner: false,
  isCopy: copyOf(ofStatement(main)),
  read: readMysqlCondition,
  work: { depth: 0, tokens: 4_000 + maxReads * statement.tokens.length },
});

/** Without those of derived tables, which nothing outside can name. */
const ofStatement = (tables: readonly TableReference[]) => tables.filter(({ inQuery }) => !inQuery);

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
  const named = starts.map((at) => (hasWords(statement, at + 1, '.') ? meantBy(tableBefore(statement, at), main) : main));
  return main.filter((each) => named.some((tables) => tables.includes(each)));
}

/** The table of `t.a` or `s.t.a`. */
function tableBefore(statement: MysqlStatement, at: number): TableName {
  const names = [at, at + 2].map((each) => nameOf(statement.tokens[each]) ?? '');
  const [schema = null, name = ''] = hasWords(statement, at + 3, '.') ? names : [null, names[0]];
  return { schema, name };
}

const commasIn = (statement: MysqlStatement, from: number, to: number): number[] =>
  statement.tokens.flatMap(({ upper }, at) => (at > from && at < to && upper === ',' && statement.depths[at] === 0 ? [at] : []));

const joinsByName = (statement: MysqlStatement, at: number): boolean =>
  upperAt(statement, at) === 'NATURAL' || hasWords(statement, at, 'USING', '(');
