import { hasWords, type MysqlStatement, nameOf, skipPair, upperAt } from './statement.js';

/** `WITH [RECURSIVE] name [(columns)] AS (query), …`: its parts, each with the index of its closing parenthesis, and the index after it. */
export interface MysqlWith {
  readonly recursive: boolean;
  readonly parts: readonly { name: string; close: number }[];
  readonly end: number;
}

/** The WITH at this position; null when it has any other form. */
export function readWith(statement: MysqlStatement, at: number): MysqlWith | null {
  const recursive = hasWords(statement, at + 1, 'RECURSIVE');
  const parts: { name: string; close: number }[] = [];
  let next = recursive ? at + 2 : at + 1;
  for (;;) {
    const name = nameOf(statement.tokens[next]);
    const query = skipPair(statement, next + 1) + 1;
    if (name === null || !hasWords(statement, query - 1, 'AS', '(')) return null;
    const end = skipPair(statement, query);
    parts.push({ name, close: end - 1 });
    if (upperAt(statement, end) !== ',') return { recursive, parts, end };
    next = end + 1;
  }
}
