import type { Dialect } from '../domain/statement.js';
import { hasLoneSurrogate, maxTextBytes } from './judge-text.js';
import { findAmbiguity } from './lexical-check.js';
import { redactMysql } from './mysql/redact.js';
import type { ParsedStatement, Parser, Token } from './postgres/parser.js';
import { findTypedConstants, type Word } from './postgres/typed-constants.js';
import type { Tree } from './tree.js';

export const unparsable = '[unparsable SQL removed]';

/** The literal-free text of AU-51, not truncated. White space and comments between tokens become one space. */
export function redactText(parser: Parser, text: string, dialect: Dialect | null): string {
  if (!isReadable(text, dialect)) return unparsable;
  if (dialect === 'mysql') return redactMysql(text) ?? unparsable;
  const parsed = parser.parse(text);
  const tokens = parsed.ok ? parser.scan(text) : null;
  if (!parsed.ok || tokens === null) return unparsable;
  const bytes = Buffer.from(text);
  const words = tokens
    .filter(({ name }) => name !== 'SQL_COMMENT' && name !== 'C_COMMENT')
    .map((token) => readWord(token, bytes));
  const hidden = (word: Word): boolean => isConstant(word) || (dialect === null && word.text.endsWith('"'));
  return groupWords(parsed.statements, words, bytes.length)
    .map(({ tree, own }) => redactStatement(tree, own, hidden))
    .join('; ');
}

function isReadable(text: string, dialect: Dialect | null): boolean {
  if (text.includes('\0') || text.length > maxTextBytes || hasLoneSurrogate(text)) return false;
  return dialect !== null || findAmbiguity(text) === null;
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
