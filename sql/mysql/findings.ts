import { isListedCall, isListedTable } from '../listed-calls.js';
import { hasWords, type MysqlStatement, nameOf } from './statement.js';

/** What occurs anywhere in a statement, at any depth (SQ-72). Words count whatever precedes them: a false alarm is better than a miss. */
export interface MysqlFindings {
  locksRows: boolean;
  /** A listed function or table, or MariaDB's NEXT VALUE FOR. */
  listedCall: boolean;
  assigns: boolean;
  /** Indexes of INTO. */
  into: readonly number[];
  procedure: boolean;
}

export function findInMysql(statement: MysqlStatement): MysqlFindings {
  const found = { locksRows: false, listedCall: false, assigns: false, into: [] as number[], procedure: false };
  for (const [at, token] of statement.tokens.entries()) {
    const { upper } = token;
    found.listedCall ||= isListedTable(nameOf(token) ?? '');
    if (upper === ':=') found.assigns = true;
    else if (upper === 'INTO') found.into.push(at);
    else if (upper === 'PROCEDURE') found.procedure = true;
    else if (upper === '(') found.listedCall ||= callsListed(statement, at - 1);
    else if (upper === 'FOR') found.locksRows ||= hasWords(statement, at + 1, 'UPDATE') || hasWords(statement, at + 1, 'SHARE');
    else if (upper === 'LOCK') found.locksRows ||= hasWords(statement, at + 1, 'IN', 'SHARE', 'MODE');
    else if (upper === 'NEXT') found.listedCall ||= hasWords(statement, at + 1, 'VALUE', 'FOR');
  }
  return found;
}

/** A name outside ASCII counts as listed, because the server may match names that differ only in accents. Trailing spaces do not matter. */
function callsListed(statement: MysqlStatement, at: number): boolean {
  const name = nameOf(statement.tokens[at]);
  return name !== null && (isListedCall(name.trimEnd()) || /[^\x00-\x7f]/.test(name));
}
