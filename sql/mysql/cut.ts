import type { CutText } from '../judge-text.js';
import { judgeMysqlStatement } from './judge-statement.js';
import { lexMysql } from './lexer.js';
import { cutStatements } from './statement.js';

/** Splits a MySQL text with our own lexer. A slice runs from a statement's first token to its last. */
export function cutMysql(text: string): CutText {
  const lexed = lexMysql(text);
  if (!lexed.ok) return lexed;
  const statements = cutStatements(lexed.tokens);
  if (typeof statements === 'string') return { ok: false, message: statements };
  return {
    ok: true,
    statements: statements.map((statement) => {
      const [first, last] = [statement.tokens[0], statement.tokens.at(-1)];
      const slice = text.slice(first?.start, last?.end);
      return (limits) => judgeMysqlStatement(statement, slice, limits);
    }),
  };
}
