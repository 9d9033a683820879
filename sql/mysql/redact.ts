import { isStatementStart } from './forms.js';
import { lexMysql, type MysqlToken } from './lexer.js';
import { cutStatements, type MysqlStatement, upperAt } from './statement.js';

/** The literal-free text of AU-51 for MySQL. Null when the text cannot be read or a statement has an unknown beginning. */
export function redactMysql(text: string): string | null {
  const lexed = lexMysql(text);
  const statements = lexed.ok ? cutStatements(lexed.tokens) : null;
  return statements === null || typeof statements === 'string' ? null : redactStatements(statements);
}

/** The same for statements that were cut. */
export function redactStatements(statements: readonly MysqlStatement[]): string | null {
  return statements.every(isStatementStart) ? statements.map(redactStatement).join('; ') : null;
}

function redactStatement(statement: MysqlStatement): string {
  const { tokens } = statement;
  let out = '';
  let previousEnd = -1;
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at]!;
    const last = lastOfConstant(statement, at);
    if (previousEnd !== -1 && token.start > previousEnd) out += ' ';
    out += last === null ? token.text : '?';
    at = last ?? at;
    previousEnd = tokens[at]!.end;
  }
  return out;
}

/** The index of the last token of the constant that begins here, or null. */
function lastOfConstant(statement: MysqlStatement, at: number): number | null {
  const { tokens } = statement;
  const word = upperAt(statement, at);
  const next = tokens[at + 1];
  if (isConstant(tokens[at]!)) return at;
  if ((typed.has(word) || /^_[A-Z0-9]+$/.test(word)) && next !== undefined && isConstant(next) && next.kind === 'string')
    return at + 1;
  if (word !== 'INTERVAL') return null;
  const value = /^[-+]$/.test(next?.upper ?? '') ? at + 2 : at + 1;
  const constant = tokens[value];
  return constant !== undefined && isConstant(constant) && /^[A-Z_]+$/.test(upperAt(statement, value + 1)) ? value + 1 : null;
}

/** A word that begins with a digit may be a name, but is redacted too, because servers differ in what they take for a number. */
const isConstant = ({ kind, text, dotted }: MysqlToken): boolean =>
  kind === 'string' || kind === 'number' || (kind === 'word' && /^\d/.test(text) && (!dotted || /^\d+$/.test(text)));

const typed = new Set(['DATE', 'TIME', 'TIMESTAMP']);
