import { hasWords, type MysqlStatement, nameOf, skipWords, upperAt } from './statement.js';

/** A table as written; schema null when none is given. */
export interface MysqlTable {
  readonly schema: string | null;
  readonly name: string;
  /** Index of the token after it. */
  readonly end: number;
}

/** The `[schema.]table` at this position; null when there is no name. The server reads `.table` as a table of its current database. */
export function readTable({ tokens }: MysqlStatement, start: number): MysqlTable | null {
  const isBare = tokens[start]?.upper === '.';
  const at = isBare ? start + 1 : start;
  const first = nameOf(tokens[at]);
  if (first === null) return null;
  const second = !isBare && tokens[at + 1]?.upper === '.' ? nameOf(tokens[at + 2]) : null;
  return second === null ? { schema: null, name: first, end: at + 1 } : { schema: first, name: second, end: at + 3 };
}

/** Where the names of ALTER TABLE, DROP TABLE and similar statements begin: after the kind and IF [NOT] EXISTS. */
export function behindKind(statement: MysqlStatement, kindAt: number): number {
  if (hasWords(statement, kindAt + 1, 'IF', 'NOT', 'EXISTS')) return kindAt + 4;
  return hasWords(statement, kindAt + 1, 'IF', 'EXISTS') ? kindAt + 3 : kindAt + 1;
}

/** Where the TABLE of an ALTER TABLE stands: MariaDB allows ONLINE and IGNORE before it. */
export const alteredAt = (statement: MysqlStatement): number => skipWords(statement, 1, beforeKind);

/** Where each clause of an ALTER TABLE begins. */
export function clausesOf(statement: MysqlStatement): readonly number[] {
  const table = readTable(statement, behindKind(statement, alteredAt(statement)));
  if (table === null) return [];
  const first = behindWait(statement, table.end);
  if (first >= statement.tokens.length) return [];
  const commas = statement.tokens.flatMap(({ upper }, at) => (upper === ',' && statement.depths[at] === 0 ? [at] : []));
  return [first, ...commas.map((at) => at + 1)];
}

/** MariaDB's `WAIT n` or `NOWAIT` behind the table. */
function behindWait(statement: MysqlStatement, at: number): number {
  if (hasWords(statement, at, 'WAIT')) return at + 2;
  return hasWords(statement, at, 'NOWAIT') ? at + 1 : at;
}

/** What is wrong with an INTO, or null. Only the one that follows INSERT or REPLACE and its modifiers is allowed. */
export function strayInto(statement: MysqlStatement, into: readonly number[], verbAt: number): 'file' | 'variable' | null {
  const verb = upperAt(statement, verbAt);
  let next = verbAt + 1;
  while (insertModifiers.has(upperAt(statement, next))) next += 1;
  const allowed = verb === 'INSERT' || verb === 'REPLACE' ? next : -1;
  const stray = into.find((at) => at !== allowed);
  if (stray === undefined) return null;
  return /^(OUT|DUMP)FILE$/.test(upperAt(statement, stray + 1)) ? 'file' : 'variable';
}

const beforeKind = new Set(['ONLINE', 'IGNORE']);
const insertModifiers = new Set(['LOW_PRIORITY', 'DELAYED', 'HIGH_PRIORITY', 'IGNORE']);
