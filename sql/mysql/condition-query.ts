import { allOf, anyOf, type Condition, constant, isSame, other } from '../condition.js';
import { restricts } from '../restricts.js';
import { levelOf, type MysqlScope, type Range } from './condition-scope.js';
import { readTable } from './ddl-parts.js';
import { isAlike, keyOf, shownAs } from './named-table.js';
import { hasWords, skipPair, upperAt } from './statement.js';
import type { TableReference } from './tables.js';

/** A subquery in a condition: after EXISTS, after IN with the tested values, or as a value. */
export function readQuery(
  how: 'exists' | 'in' | 'value',
  range: Range,
  asked: readonly Condition[],
  scope: MysqlScope,
): Condition {
  if (how === 'in' && asked.every((part) => covers(range, part, scope))) return constant(true);
  const own = scope.references.filter(({ at }) => at > range.from && at < range.to);
  const isSeen = (table: TableReference) => !own.some((one) => isAlike(shownAs(one), shownAs(table)) && mayBeOfOne(one, table));
  const tables = [...scope.tables.filter(isSeen), ...own];
  const inner = { ...scope, inner: true, tables, targets: scope.targets.filter(isSeen) };
  const conditions = conditionsIn(range, inner);
  const where = conditions.length === 0 ? constant(true) : allOf(conditions);
  const list = listIn(range, scope);
  if (how === 'exists') return counts(range, scope) ? constant(true) : { kind: 'exists', where };
  const given = list === null ? null : scope.read(list, inner);
  if (given !== null && how === 'in' && asked.every((part) => isSame(part, given))) return { kind: 'exists', where };
  if (given !== null && how === 'value' && list?.to === range.to) return given;
  return other('query', [...asked, ...(given === null ? [] : [given]), where]);
}

/** The select list: after SELECT, up to FROM. */
function listIn(range: Range, scope: MysqlScope): Range | null {
  if (upperAt(scope.statement, range.from) !== 'SELECT') return null;
  const from = hasWords(scope.statement, range.from + 1, 'DISTINCT') ? range.from + 2 : range.from + 1;
  const to = levelOf({ from, to: range.to }, scope).find((at) => upperAt(scope.statement, at) === 'FROM') ?? range.to;
  return { from, to };
}

/** `SELECT COUNT(…)` without GROUP BY returns a row whatever it finds. */
function counts(range: Range, scope: MysqlScope): boolean {
  const grouped = levelOf(range, scope).some((at) => /^(GROUP|HAVING)$/.test(upperAt(scope.statement, at)));
  return (
    !grouped &&
    /^(COUNT|SUM|MIN|MAX|AVG)$/.test(upperAt(scope.statement, range.from + 1)) &&
    hasWords(scope.statement, range.from + 2, '(')
  );
}

/** The conditions after WHERE, ON and HAVING, including those of derived tables. */
export function conditionsIn(range: Range, scope: MysqlScope): Condition[] {
  const level = levelOf(range, scope);
  const arms = level.filter((at) => setOperations.has(upperAt(scope.statement, at)));
  if (arms.length > 0) {
    const bounds = [range.from, ...arms.map((at) => at + 1), range.to + 1];
    const parts = bounds.slice(0, -1).map((from, index) => allOf(conditionsIn({ from, to: bounds[index + 1]! - 1 }, scope)));
    return [anyOf(parts)];
  }
  return level.flatMap((at, index): Condition[] => {
    const word = upperAt(scope.statement, at);
    if (word === '(' && (upperAt(scope.statement, at + 1) === 'SELECT' || holdsJoin(at, scope)))
      return conditionsIn({ from: at + 1, to: skipPair(scope.statement, at) - 1 }, scope);
    if (!openers.has(word)) return [];
    const to = level.slice(index + 1).find((next) => clauses.has(upperAt(scope.statement, next))) ?? range.to;
    return [scope.read({ from: at + 1, to }, scope)];
  });
}

/** The words of joins between these, also of those in parentheses. */
export function joinWords(range: Range, scope: MysqlScope): number[] {
  return levelOf(range, scope).flatMap((at) =>
    holdsJoin(at, scope) ? joinWords({ from: at + 1, to: skipPair(scope.statement, at) - 1 }, scope) : [at],
  );
}

/** Whether a parenthesis opens here that stands where a table may, and holds no query. */
const holdsJoin = (at: number, { statement }: MysqlScope): boolean =>
  upperAt(statement, at) === '(' && beforeTable.has(upperAt(statement, at - 1)) && !queries.has(upperAt(statement, at + 1));

const maxNesting = 5;

/** `SELECT id FROM t`, or the same from such a query, without a restricting condition: it returns every row of the written table. */
function covers(range: Range, asked: Condition, scope: MysqlScope, depth = 0): boolean {
  const { statement } = scope;
  const list = listIn(range, scope);
  if (list === null || depth > maxNesting || asked.kind !== 'column' || asked.of !== 'target') return false;
  const isDerived = upperAt(statement, list.to + 1) === '(';
  const table = isDerived ? null : readTable(statement, list.to + 1);
  const inside = { from: list.to + 2, to: skipPair(statement, list.to + 1) - 1 };
  const reference = scope.references.find(({ at }) => at === list.to + 1);
  if (isDerived ? !covers(inside, asked, scope, depth + 1) : reference === undefined || !isWritten(reference, asked, scope))
    return false;
  const end = isDerived ? inside.to + 1 : (table?.end ?? range.to);
  const rest = levelOf({ from: end, to: range.to }, scope);
  if (rest.some((at) => bounding.has(upperAt(statement, at)))) return false;
  const here = reference === undefined ? [] : [reference];
  const local = { ...scope, inner: false, tables: here, targets: here };
  const where = rest.find((at) => upperAt(statement, at) === 'WHERE');
  const to = rest.find((at) => at > (where ?? range.to) && clauses.has(upperAt(statement, at))) ?? range.to;
  if (where !== undefined && restricts(scope.read({ from: where + 1, to }, local))) return false;
  const given = scope.read(list, local);
  return upperAt(statement, list.from) === '*' || (given.kind === 'column' && given.name === asked.name);
}

function isWritten(
  written: TableReference,
  asked: Extract<Condition, { kind: 'column' }>,
  { references, targets }: MysqlScope,
): boolean {
  return references.some((each) => {
    const isTarget = asked.table === null ? targets.includes(each) : keyOf(each) === asked.table;
    return isTarget && isAlike(each.name, written.name) && mayBeOfOne(each, written);
  });
}

/** Whether two tables may be of one database. */
const mayBeOfOne = ({ schema: one }: TableReference, { schema: another }: TableReference): boolean =>
  one === null || another === null || isAlike(one, another);

const beforeTable = new Set('FROM USING UPDATE LOW_PRIORITY IGNORE JOIN STRAIGHT_JOIN , ('.split(' '));
const queries = new Set(['SELECT', 'WITH', 'TABLE', 'VALUES']);
const setOperations = new Set(['UNION', 'EXCEPT', 'INTERSECT']);
const openers = new Set(['WHERE', 'ON', 'HAVING']);
/** Words that end a condition. */
const clauses = new Set(
  'WHERE ON HAVING GROUP ORDER LIMIT UNION EXCEPT INTERSECT JOIN INNER LEFT RIGHT CROSS NATURAL STRAIGHT_JOIN SET RETURNING WINDOW FOR LOCK'.split(
    ' ',
  ),
);
/** Words that make a query return fewer or different rows. */
const bounding = new Set('LIMIT HAVING GROUP JOIN STRAIGHT_JOIN UNION EXCEPT INTERSECT ,'.split(' '));
