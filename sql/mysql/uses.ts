import type { UsedName, Uses } from '../../domain/statement.js';
import { words } from '../../lib/words.js';
import { distinctUses, noUses } from '../uses.js';
import { readTable } from './ddl-parts.js';
import type { MysqlForm } from './form.js';
import { hasWords, type MysqlStatement, nameOf, skipPair, skipWords, upperAt } from './statement.js';
import { findTables } from './tables.js';
import { hasValueQuery } from './value-query.js';

/** The functions of a query or DML statement; a definition uses none. Operators and types are the server's own, except variables (`@`). */
export function mysqlUsesOf(statement: MysqlStatement, form: MysqlForm): Uses {
  const uses = noUses();
  if (form.kind !== 'query' && form.kind !== 'dml' && form.kind !== 'utility') return uses;
  const insertedAt = insertedTableEnd(statement, form.verbAt);
  for (const [at, { upper, dotted }] of statement.tokens.entries()) {
    if (upper === '(') {
      const used = at - 1 === insertedAt ? null : calledAt(statement, at - 1);
      if (used !== null) uses.functions.push(used);
    } else if (upper === '@' || (upper === ':' && upperAt(statement, at + 1) === '='))
      uses.operators.push({ schema: null, name: '@' });
    else if (upper === ':=' || (failing.has(upper) && !isStar(statement, at))) uses.operators.push({ schema: null, name: upper });
    else if (!dotted && withoutParentheses.has(upper)) uses.functions.push({ schema: null, name: upper.toLowerCase() });
    else if ((upper === 'NEXT' || upper === 'PREVIOUS') && hasWords(statement, at + 1, 'VALUE', 'FOR'))
      uses.functions.push({ schema: null, name: upper === 'NEXT' ? 'nextval' : 'lastval' });
  }
  uses.valueQuery = hasValueQuery(statement);
  uses.lookup = form.kind === 'query' && uses.functions.length + uses.operators.length === 0 && isOfOneTable(statement);
  return distinctUses(uses);
}

const isOfOneTable = (statement: MysqlStatement): boolean =>
  statement.tokens.filter(({ upper }) => upper === 'SELECT').length === 1 &&
  upperAt(statement, 0) === 'SELECT' &&
  findTables(statement).length === 1;

/** Whether `*` means all columns here, not multiplication. */
const isStar = (statement: MysqlStatement, at: number): boolean =>
  upperAt(statement, at) === '*' && beforeStar.has(upperAt(statement, at - 1));

/** What the parenthesis after this token calls, or null. */
function calledAt(statement: MysqlStatement, at: number): UsedName | null {
  const token = statement.tokens[at];
  const name = nameOf(token);
  if (token === undefined || name === null) return null;
  if (upperAt(statement, at - 1) === '.') return { schema: nameOf(statement.tokens[at - 2]) ?? '', name };
  if (token.kind === 'word' && (notCalled.has(token.upper) || isClause(statement, at))) return null;
  // A column list of a derived table or of a part of a WITH.
  const behind = upperAt(statement, at - 1) === 'AS' ? at - 2 : at - 1;
  if (upperAt(statement, behind) === ')' || hasWords(statement, skipPair(statement, at + 1), 'AS', '(')) return null;
  const folded = name.trimEnd().toLowerCase();
  const close = skipPair(statement, at + 1);
  const apart = token.end !== statement.tokens[at + 1]?.start && !hasWords(statement, close, 'OVER');
  const isStored = folded === 'json_table' && !statement.tokens.slice(at, close).some(({ upper }) => upper === 'COLUMNS');
  // In quotes, or with a space before the parenthesis, the server takes names that its grammar knows for stored functions.
  return { schema: token.kind === 'name' || isStored || (apart && adjacent.has(folded)) ? '' : null, name: folded };
}

/** COLUMNS and ESCAPE behind a text, OF behind AS; elsewhere these are names that no server reserves. */
const isClause = (statement: MysqlStatement, at: number): boolean =>
  (/^(COLUMNS|ESCAPE)$/.test(upperAt(statement, at)) && statement.tokens[at - 1]?.kind === 'string') ||
  hasWords(statement, at - 1, 'AS', 'OF');

/** The last token of the table of an INSERT or REPLACE; its column list may follow. */
function insertedTableEnd(statement: MysqlStatement, verbAt: number): number | null {
  const verb = upperAt(statement, verbAt);
  if (verb !== 'INSERT' && verb !== 'REPLACE') return null;
  const first = skipWords(statement, verbAt + 1, beforeTable);
  const table = readTable(statement, first);
  return table === null ? null : table.end - 1;
}

/** Operators that can fail on a value. */
const failing = words('+ - * / % ^ & | ~ ! DIV MOD REGEXP RLIKE');
const beforeStar = words('SELECT DISTINCT ALL , . (');
const beforeTable = words('LOW_PRIORITY DELAYED HIGH_PRIORITY IGNORE INTO');
const withoutParentheses =
  words(`CURRENT_USER CURRENT_ROLE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP UTC_DATE UTC_TIME
  UTC_TIMESTAMP MATCH`);
/** Keywords that may precede a parenthesis without being a call. A function with such a name can only be called in quotes or with its database. */
const notCalled = words(`
  AND OR NOT XOR IN ON USING VALUES VALUE WHERE HAVING SELECT FROM JOIN AS ALL ANY SOME EXISTS DISTINCT DISTINCTROW UNION EXCEPT INTERSECT BY
  WHEN THEN ELSE CASE BETWEEN LIKE REGEXP RLIKE IS SET OVER ROW INTERVAL DIV MOD BINARY INDEX KEY PARTITION LATERAL UPDATE INTO
  STRAIGHT_JOIN WITH RECURSIVE LIMIT OFFSET RETURNING WINDOW DECIMAL DEC NUMERIC VARCHAR VARBINARY NCHAR FLOAT DOUBLE REAL BIT INT
  INTEGER BIGINT SMALLINT TINYINT MEDIUMINT DATETIME SIGNED UNSIGNED SEPARATOR FOR`);
/** The names that, by MySQL's manual or for MariaDB, must not be followed by a space. */
const adjacent =
  words(`adddate bit_and bit_or bit_xor cast count cume_dist curdate curtime date_add date_sub dense_rank extract first_value group_concat
  json_arrayagg json_objectagg lag lead max median mid min now nth_value ntile percent_rank percentile_cont percentile_disc position rank
  session_user std stddev stddev_pop stddev_samp subdate substr substring sum sysdate system_user trim trim_oracle variance var_pop var_samp`);
