import type { MysqlToken } from './lexer.js';

/** One statement's tokens and the structure of its parentheses. */
export interface MysqlStatement {
  readonly tokens: readonly MysqlToken[];
  /** Number of parentheses around each token; a parenthesis itself counts as outside. */
  readonly depths: readonly number[];
  /** Maps the index of each `(` to that of its `)`. */
  readonly closing: ReadonlyMap<number, number>;
}

/** The server's own parser takes about 2,000; people write fewer than ten. */
const maxDepth = 200;

/** The statements between semicolons, without empty ones. Returns a message when parentheses do not balance or nest too deep. */
export function cutStatements(tokens: readonly MysqlToken[]): readonly MysqlStatement[] | string {
  const statements: MysqlStatement[] = [];
  let first = 0;
  for (let at = 0; at <= tokens.length; at += 1) {
    if (at < tokens.length && tokens[at]?.upper !== ';') continue;
    if (at > first) {
      const statement = pairUp(tokens.slice(first, at));
      if (typeof statement === 'string') return statement;
      statements.push(statement);
    }
    first = at + 1;
  }
  return statements;
}

/** The upper-case word or sign at an index. Empty outside the statement and for quoted text. */
export const upperAt = (statement: MysqlStatement, at: number): string => statement.tokens[at]?.upper ?? '';

/** Whether these words and signs stand here, one after the other. */
export const hasWords = (statement: MysqlStatement, at: number, ...words: readonly string[]): boolean =>
  words.every((word, offset) => upperAt(statement, at + offset) === word);

/** The index after any words of the set that stand here. */
export function skipWords(statement: MysqlStatement, at: number, words: ReadonlySet<string>): number {
  let next = at;
  while (words.has(upperAt(statement, next))) next += 1;
  return next;
}

/** The index after the pair of parentheses that opens here, else the index itself. */
export const skipPair = (statement: MysqlStatement, at: number): number => (statement.closing.get(at) ?? at - 1) + 1;

/** The name that a token spells, without quotes and in its own case; null if it is not a name. */
export function nameOf(token: MysqlToken | undefined): string | null {
  if (token?.kind === 'word') return token.text;
  return token?.kind === 'name' ? token.text.slice(1, -1).replaceAll('``', '`') : null;
}

function pairUp(tokens: readonly MysqlToken[]): MysqlStatement | string {
  const depths: number[] = [];
  const closing = new Map<number, number>();
  const open: number[] = [];
  let repeated = 0;
  for (const [at, { upper }] of tokens.entries()) {
    if (upper === ':') return labelOutside;
    if (upper === ')') {
      const opening = open.pop();
      if (opening === undefined) return 'a parenthesis is closed that was not opened';
      closing.set(opening, at);
    }
    depths.push(open.length);
    if (upper === '(') open.push(at);
    repeated = nesting.has(upper) ? repeated + 1 : 0;
    if (open.length > maxDepth || repeated > maxDepth) return 'nested too deep';
  }
  return open.length === 0 ? { tokens, depths, closing } : 'an open parenthesis';
}

export const labelOutside = 'a character that does not belong here: ":"';

/** Operators that the server nests when they are repeated. */
const nesting = new Set(['NOT', '!', '~', '-', '+']);
