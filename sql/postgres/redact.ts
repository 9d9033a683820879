import type { Dialect } from '../../domain/statement.js';
import type { Tree } from '../tree.js';
import type { ParsedStatement, Parser, Token } from './parser.js';
import { findTypedConstants, type Word } from './typed-constants.js';

/** The literal-free text of AU-51 for parsed PostgreSQL. Null when the text cannot be scanned. */
export function redactPostgresql(
  parser: Parser,
  statements: readonly ParsedStatement[],
  text: string,
  dialect: Dialect | null,
): string | null {
  const tokens = parser.scan(text);
  if (tokens === null) return null;
  const bytes = Buffer.from(text);
  const words = tokens
    .filter(({ name }) => name !== 'SQL_COMMENT' && name !== 'C_COMMENT')
    .map((token) => readWord(token, bytes));
  const hidden = (word: Word): boolean => isConstant(word) || (dialect === null && word.text.endsWith('"'));
  return groupWords(statements, words, bytes.length)
    .map(({ tree, own }) => redactStatement(tree, own, hidden))
    .join('; ');
}

const readWord = (token: Token, bytes: Buffer): Word => ({ ...token, text: bytes.toString('utf8', token.start, token.end) });

/** The words of each statement. Relies on both lists being in the order of the text. */
function groupWords(
  statements: readonly ParsedStatement[],
  words: readonly Word[],
  total: number,
): { tree: Tree; own: Word[] }[] {
  let at = 0;
  return statements.map(({ tree, start, length }) => {
    const end = length === 0 ? total : start + length;
    while (at < words.length && words[at]!.start < start) at += 1;
    const first = at;
    while (at < words.length && words[at]!.end <= end) at += 1;
    return { tree, own: words.slice(first, at) };
  });
}

function redactStatement(tree: Tree, words: readonly Word[], hidden: (word: Word) => boolean): string {
  const typed = findTypedConstants(tree, words);
  let out = '';
  let previousEnd = -1;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]!;
    const last = words[typed.get(at) ?? at]!;
    if (previousEnd !== -1 && word.start > previousEnd) out += ' ';
    out += last !== word || hidden(word) ? '?' : word.text;
    previousEnd = last.end;
    at = typed.get(at) ?? at;
  }
  return out;
}

/** The scanner has no name of its own for bit strings, hexadecimal strings and `U&'…'`, but they end in a quote like all strings. */
function isConstant({ name, text }: Word): boolean {
  return name === 'SCONST' || name === 'ICONST' || name === 'FCONST' || text.endsWith("'");
}
