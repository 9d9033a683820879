import type { TableName } from '../../domain/statement.js';
import { type Condition, constant } from '../condition.js';
import { readTable } from './ddl-parts.js';
import type { MysqlToken } from './lexer.js';
import { isAlike, keyOf, meantBy } from './named-table.js';
import { type MysqlStatement, nameOf, upperAt } from './statement.js';
import type { TableReference } from './tables.js';

/** The tokens from `from` to before `to`, at one level of parentheses. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** How names resolve where a condition stands. */
export interface MysqlScope {
  readonly statement: MysqlStatement;
  /** The tables that a name in front of a column may mean. */
  readonly tables: readonly TableReference[];
  /** Those of them whose rows are written. */
  readonly targets: readonly TableReference[];
  /** Inside a subquery, where a bare name may belong to the subquery. */
  readonly inner: boolean;
  readonly references: readonly TableReference[];
  readonly read: (range: Range, scope: MysqlScope) => Condition;
  /** Levels above, and the remaining number of tokens to read: a token is read once per level. */
  readonly work: { depth: number; tokens: number };
  /** Whether both are the same column of one table under two names. */
  readonly isCopy: (left: Condition, right: Condition) => boolean;
}

/** Whether two columns are the same one of a table with two aliases: `t.id = x.id` of `t JOIN t AS x`. */
export function copyOf(references: readonly TableReference[]): MysqlScope['isCopy'] {
  const tables = new Map(references.map((each) => [keyOf(each), each]));
  return (left, right) => {
    if (left.kind !== 'column' || right.kind !== 'column' || left.table === null || right.table === null) return false;
    const [one, another] = [tables.get(left.table), tables.get(right.table)];
    if (left.table === right.table || left.name !== right.name || one === undefined || another === undefined) return false;
    return isAlike(one.name, another.name) && isAlike(one.schema ?? '', another.schema ?? '');
  };
}

/** The column that is the whole range, or null. */
export function columnAt({ from, to }: Range, scope: MysqlScope): Condition | null {
  const { statement } = scope;
  const first = nameOf(statement.tokens[from]);
  if (first === null || (statement.tokens[from]?.kind === 'word' && words.has(upperAt(statement, from)))) return null;
  const table = readTable(statement, from);
  if (table === null) return null;
  const isLong =
    table.end === from + 3 && upperAt(statement, table.end) === '.' && nameOf(statement.tokens[table.end + 1]) !== null;
  if (to !== (isLong ? table.end + 2 : table.end)) return null;
  if (isLong) return column(table, nameOf(statement.tokens[table.end + 1]) ?? '', scope);
  return column(table.schema === null ? null : { schema: null, name: table.schema }, table.name, scope);
}

function column(table: TableName | null, name: string, { tables, targets, inner }: MysqlScope): Condition {
  const meant = table === null ? [] : meantBy(table, tables);
  const isTarget = table === null ? !inner : meant.length > 0 && meant.every((one) => targets.includes(one));
  // MySQL compares column names without case.
  const found = { kind: 'column', name: name.toLowerCase() } as const;
  if (isTarget && targets.length === 1) return { ...found, of: 'target', table: null };
  const only = meant.length === 1 ? meant[0] : undefined;
  const shown = only === undefined ? (table?.name.toLowerCase() ?? null) : keyOf(only);
  return { ...found, of: isTarget ? 'target' : table === null ? 'unsure' : 'other', table: shown };
}

/** All columns in a range that is not understood. */
export function columnsIn({ from, to }: Range, scope: MysqlScope): Condition[] {
  const found: Condition[] = [];
  for (let at = from; at < to; at += 1) {
    const token = scope.statement.tokens[at];
    if (upperAt(scope.statement, at - 1) === '@' || upperAt(scope.statement, at - 1) === '.' || nameOf(token) === null) continue;
    let end = at + 1;
    while (end < to && upperAt(scope.statement, end) === '.') end += 2;
    // `DATE '…'` and `_latin1'…'` are constants.
    const isPrefix = scope.statement.tokens[end]?.kind === 'string';
    const one = isPrefix || upperAt(scope.statement, end) === '(' ? null : columnAt({ from: at, to: Math.min(end, to) }, scope);
    if (one !== null) found.push(one);
  }
  return found;
}

/** The indexes of a range outside its parentheses and CASE … END. */
export function levelOf({ from, to }: Range, { statement }: MysqlScope): number[] {
  const found: number[] = [];
  let cases = 0;
  for (let at = from; at < to; at += 1) {
    const isPlain = statement.tokens[at]?.dotted !== true;
    const word = isPlain ? upperAt(statement, at) : '';
    if (word === 'CASE') cases += 1;
    if (cases === 0 && isPlain) found.push(at);
    if (word === 'END') cases = Math.max(0, cases - 1);
    if (word === '(') at = (statement.closing.get(at) ?? at) - 1;
  }
  return found;
}

/** The constant that a token spells, or null. */
export function constantOf(token: MysqlToken, negative: boolean): Condition | null {
  if (token.kind === 'number') {
    const value = Number(token.text);
    return constant(negative ? -value : value, /^\d+$/.test(token.text) ? 'integer' : 'number');
  }
  if (negative) return null;
  if (token.kind === 'string' && /^['"]/.test(token.text)) return constant(token.text.slice(1, -1), 'text');
  if (token.kind !== 'word' || token.dotted) return null;
  return token.upper === 'TRUE'
    ? constant(true)
    : token.upper === 'FALSE'
      ? constant(false)
      : token.upper === 'NULL'
        ? constant(null)
        : null;
}

/** Words in expressions that are not columns: reserved words, units, and prefixes of constants. */
const words = new Set(
  `ALL AND ANY AS ASC BETWEEN BINARY BOTH BY CASE COLLATE CROSS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DESC DISTINCT DIV ELSE END
  ESCAPE EXCEPT EXISTS FALSE FOR FROM GROUP HAVING IN INNER INTERSECT INTERVAL IS JOIN LEADING LEFT LIKE LIMIT LOCALTIME LOCALTIMESTAMP MOD NATURAL
  NOT NULL ON OR ORDER OUTER OVER PARTITION REGEXP RIGHT RLIKE SELECT SOUNDS THEN TRAILING TRUE UNION UNKNOWN USING UTC_DATE UTC_TIME
  UTC_TIMESTAMP WHEN WHERE WITH XOR SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR MICROSECOND DAY_HOUR DAY_MINUTE DAY_SECOND`.split(
    /\s+/,
  ),
);
