import type { Dialect } from '../domain/statement.js';
import { hasLoneSurrogate, maxTextBytes } from './classify-text.js';
import { findAmbiguity } from './lexical-check.js';
import { redactMysql } from './mysql/redact.js';
import type { Parser } from './postgres/parser.js';
import { redactPostgresql } from './postgres/redact.js';
import { unparsable } from './verdict.js';

/** The literal-free text of AU-51, not truncated. White space and comments between tokens become one space. */
export function redactText(parser: Parser, text: string, dialect: Dialect | null): string {
  if (!isReadable(text, dialect)) return unparsable;
  if (dialect === 'mysql') return redactMysql(text) ?? unparsable;
  const parsed = parser.parse(text);
  return (parsed.ok ? redactPostgresql(parser, parsed.statements, text, dialect) : null) ?? unparsable;
}

function isReadable(text: string, dialect: Dialect | null): boolean {
  if (text.includes('\0') || text.length > maxTextBytes || hasLoneSurrogate(text)) return false;
  return dialect !== null || findAmbiguity(text) === null;
}
