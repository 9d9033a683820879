import { hasWords, type MysqlStatement, upperAt } from './statement.js';

/** Whether a query stands anywhere but at the top level, after UNION and similar operators, in a WITH, in FROM, or as the rows of an INSERT. */
export function hasValueQuery(statement: MysqlStatement): boolean {
  /** For each open parenthesis: whether a query in it may be a table or a part of the statement. */
  const open: boolean[] = [];
  const fromList: boolean[] = [false];
  for (const [at, { upper, dotted }] of statement.tokens.entries()) {
    if (upper === '(') {
      open.push(mayHoldQuery(statement, at, open.at(-1) ?? true, fromList.at(-1) ?? false));
      // `FROM (a, (SELECT 1) b)`: a list of tables in parentheses.
      fromList.push(open.at(-1) === true && (fromList.at(-1) ?? false));
    } else if (upper === ')') {
      open.pop();
      fromList.pop();
    } else if (queries.has(upper) && !dotted && upperAt(statement, at - 1) === '(' && open.at(-1) === false) return true;
    else if (!dotted && upper === 'FROM') fromList[fromList.length - 1] = true;
    else if (!dotted && closers.has(upper)) fromList[fromList.length - 1] = false;
  }
  return false;
}

function mayHoldQuery(statement: MysqlStatement, at: number, outer: boolean, inFrom: boolean): boolean {
  const before = upperAt(statement, at - 1);
  if (at === 0 || tableOpeners.has(before)) return true;
  if (before === 'AS' || setOperators.has(before)) return true;
  if (before === ',') return inFrom;
  if (before === '(') return outer;
  // The rows of an INSERT, after its table or columns; EXPLAIN may precede it.
  return statement.depths[at] === 0 && isInsert(statement) && !hasWords(statement, at - 1, 'IN') && !behindSet(statement, at);
}

const isInsert = (statement: MysqlStatement): boolean =>
  statement.tokens.slice(0, 3).some(({ upper }) => upper === 'INSERT' || upper === 'REPLACE');

/** After these words an INSERT holds expressions. */
const behindSet = (statement: MysqlStatement, at: number): boolean =>
  statement.tokens.slice(0, at).some(({ upper, dotted }) => !dotted && expressions.has(upper));

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const queries = words('SELECT WITH TABLE');
const tableOpeners = words('FROM JOIN STRAIGHT_JOIN LATERAL USING EXPLAIN');
const setOperators = words('UNION EXCEPT INTERSECT MINUS ALL DISTINCT');
const closers = words('WHERE SET GROUP HAVING ORDER LIMIT UNION EXCEPT INTERSECT WINDOW SELECT VALUES VALUE RETURNING ON');
const expressions = words('SET VALUES VALUE DUPLICATE RETURNING WHERE SELECT');
