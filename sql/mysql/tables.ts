import type { TableName } from '../../domain/statement.js';
import { readTable } from './ddl-parts.js';
import { hasWords, type MysqlStatement, nameOf, skipPair, upperAt } from './statement.js';
import { readWith } from './with.js';

/** A table in FROM, JOIN, UPDATE or a list of them. */
export interface TableReference extends TableName {
  readonly alias: string | null;
  /** Index of its first token. */
  readonly at: number;
  /** Inside a query in parentheses, which can only be read. */
  readonly inQuery: boolean;
}

interface Frame {
  /** A table comes next. */
  expects: boolean;
  /** A comma introduces another table. */
  listing: boolean;
  /** A table was joined to the list, so that USING may name columns. */
  joined: boolean;
  /** The parentheses of EXTRACT, SUBSTRING or TRIM, whose FROM names no table. */
  isCall: boolean;
  /** The parentheses hold a query. */
  isQuery: boolean;
  readonly hidden: Set<string>;
}

/** The tables that queries and DML name, in order. WITH names are left out where they hide a table. */
export function findTables(statement: MysqlStatement): readonly TableReference[] {
  const found: TableReference[] = [];
  const frames: Frame[] = [newFrame(false, false)];
  const closings = new Map<number, string>();
  for (let at = 0; at < statement.tokens.length; at += 1) {
    const frame = frames.at(-1)!;
    const token = statement.tokens[at]!;
    if (token.upper === '(') {
      frames.push(newFrame(frame.expects, callsWithFrom.has(upperAt(statement, at - 1))));
      frame.expects = false;
    } else if (token.upper === ')') {
      frames.pop();
      const name = closings.get(at);
      if (name !== undefined) frames.at(-1)?.hidden.add(name);
    } else if (token.upper === 'WITH' && !token.dotted) hideNames(statement, at, frame, closings);
    else if (frame.expects && beginsQuery(statement, at)) turn(statement, at, frame);
    else if (frame.expects && !isSkipped(statement, at) && !opens(statement, at, frame)) {
      frame.expects = false;
      at = addTable(statement, at, frames, found);
    } else if (!token.dotted) turn(statement, at, frame);
  }
  return found;
}

const newFrame = (expects: boolean, isCall: boolean): Frame => ({
  expects,
  listing: expects,
  joined: false,
  isCall,
  isQuery: false,
  hidden: new Set(),
});

/** Handles a word that begins or ends a list of tables. */
function turn(statement: MysqlStatement, at: number, frame: Frame): void {
  const word = upperAt(statement, at);
  frame.isQuery ||= beginsQuery(statement, at);
  if (word === ',') frame.expects = frame.listing;
  else if (opens(statement, at, frame)) {
    frame.expects = true;
    frame.listing ||= word === 'FROM' || word === 'UPDATE';
    frame.joined ||= word === 'JOIN' || word === 'STRAIGHT_JOIN';
  } else if (word === 'USING')
    frame.expects = frame.listing && statement.depths[at] === 0 && !(frame.joined && hasWords(statement, at + 1, '('));
  else if (closes(statement, at)) Object.assign(frame, { expects: false, listing: false });
}

/** Whether the word ends a list of tables. One that some server does not reserve may also be an alias or a column there. */
function closes(statement: MysqlStatement, at: number): boolean {
  const word = upperAt(statement, at);
  if (word === 'WINDOW') return hasWords(statement, at + 2, 'AS', '(');
  if (word === 'EXCEPT' || word === 'INTERSECT') return behindSetOperator.has(upperAt(statement, at + 1));
  // MySQL has no RETURNING clause; MariaDB has it where a single table is written.
  if (word === 'RETURNING') return statement.depths[at] === 0 && !behindAlias.has(upperAt(statement, at + 1));
  // `USE INDEX FOR ORDER BY (i)`
  if (word === 'ORDER' || word === 'GROUP') return upperAt(statement, at - 1) !== 'FOR';
  if (word === 'DUPLICATE') return hasWords(statement, at - 1, 'ON', 'DUPLICATE', 'KEY');
  return closers.has(word) || beginsQuery(statement, at);
}

/** MySQL takes the function VALUES(column) in any condition. */
const beginsQuery = (statement: MysqlStatement, at: number): boolean =>
  upperAt(statement, at) === 'SELECT' || (upperAt(statement, at) === 'VALUES' && beforeQuery.has(upperAt(statement, at - 1)));

/** LATERAL precedes a query; without one it is a name. */
const isSkipped = (statement: MysqlStatement, at: number): boolean =>
  skipped.has(upperAt(statement, at)) || hasWords(statement, at, 'LATERAL', '(');

/** UPDATE and TABLE name a table only where a statement or query begins with them. */
function opens(statement: MysqlStatement, at: number, frame: Frame): boolean {
  const word = upperAt(statement, at);
  if (statement.tokens[at]?.dotted === true || elsewhere[word]?.has(upperAt(statement, at - 1)) === true) return false;
  return (word === 'FROM' && (!frame.isCall || frame.isQuery)) || openers.has(word);
}

/** Adds the table at this position and returns the index of its last token. */
function addTable(statement: MysqlStatement, at: number, frames: readonly Frame[], found: TableReference[]): number {
  const table = readTable(statement, at);
  if (table === null) return closes(statement, at) ? at - 1 : at;
  const isFunction = hasWords(statement, table.end, '(') && upperAt(statement, at) === 'JSON_TABLE';
  const isHidden = table.schema === null && frames.some(({ hidden }) => hidden.has(table.name));
  const isDual = upperAt(statement, at) === 'DUAL';
  const behind = hasWords(statement, table.end, 'PARTITION', '(') ? skipPair(statement, table.end + 1) : table.end;
  const aliasAt = hasWords(statement, behind, 'AS') ? behind + 1 : behind;
  const isAlias = !behindTable.has(upperAt(statement, aliasAt)) && !closes(statement, aliasAt);
  const alias = isAlias ? nameOf(statement.tokens[aliasAt]) : null;
  const inQuery = frames.slice(1).some(({ isQuery }) => isQuery);
  if (!isFunction && !isHidden && !isDual) found.push({ schema: table.schema, name: table.name, alias, at, inQuery });
  return table.end - 1;
}

/** RECURSIVE hides all its names immediately; otherwise each name is hidden only after its own query. */
function hideNames(statement: MysqlStatement, at: number, frame: Frame, closings: Map<number, string>): void {
  const clause = readWith(statement, at);
  Object.assign(frame, { expects: false, listing: false, isQuery: true });
  for (const { name, close } of clause?.parts ?? []) {
    if (clause?.recursive === true) frame.hidden.add(name);
    else closings.set(close, name);
  }
}

const callsWithFrom = new Set(['EXTRACT', 'SUBSTRING', 'SUBSTR', 'MID', 'TRIM']);
const openers = new Set(['JOIN', 'STRAIGHT_JOIN', 'REFERENCES', 'UPDATE', 'TABLE']);
const elsewhere: Readonly<Record<string, ReadonlySet<string>>> = {
  UPDATE: new Set(['FOR', 'KEY', 'ON']),
  JOIN: new Set(['FOR']),
  TABLE: new Set(['CREATE', 'TEMPORARY', 'ALTER', 'DROP', 'RENAME', 'OPTIMIZE', 'ANALYZE', 'TRUNCATE']),
};
/** All servers reserve them. */
const closers = new Set(['WHERE', 'SET', 'HAVING', 'LIMIT', 'UNION']);
const beforeQuery = new Set(['(', 'UNION', 'EXCEPT', 'INTERSECT', 'ALL', 'DISTINCT']);
const skipped = new Set(['LOW_PRIORITY', 'IGNORE']);
/** Words that may follow a table and are not aliases. */
const behindTable = new Set(
  'AS FOR LOCK ON USING USE FORCE IGNORE JOIN INNER LEFT RIGHT CROSS NATURAL STRAIGHT_JOIN PARTITION FROM'.split(' '),
);
const behindAlias = new Set([...behindTable, ...closers, 'GROUP', 'ORDER', 'SELECT', 'VALUES', ',', '']);
const behindSetOperator = new Set(['SELECT', 'VALUES', 'TABLE', 'WITH', 'ALL', 'DISTINCT', '(']);
