import type { Form } from '../form.js';
import { type Reason, refuseFor } from '../reasons.js';
import type { Refused } from '../verdict.js';
import type { MysqlToken } from './lexer.js';
import { hasWords, type MysqlStatement, nameOf, upperAt } from './statement.js';

/** SET where every part is allowed and each value is one constant or word (SQ-50, SQ-51). A computed value is refused. */
export function mysqlSetting(statement: MysqlStatement, at: number): Form | Reason | Refused {
  if (hasWords(statement, at, 'TRANSACTION') || hasWords(statement, at + 1, 'TRANSACTION')) return 'transaction control';
  let next = at;
  for (;;) {
    const part = readPart(statement, next);
    if (typeof part === 'string') return refuseFor('session state', part, hintFor(part));
    if (part.end === statement.tokens.length) return { class: 'setting', kind: 'setting', type: 'SELECT', inside: 'runs' };
    if (upperAt(statement, part.end) !== ',') return refuseFor('session state', 'SET with a computed value');
    next = part.end + 1;
  }
}

/** Where the name is at fault, not the value. */
const hintFor = (wrong: string): string | null =>
  wrong.startsWith('SET ') && !wrong.endsWith('value') ? `these may be set: ${Object.keys(allowed).join(', ')}` : null;

/** Where one part ends, or what is wrong with it. */
function readPart(statement: MysqlStatement, start: number): { end: number } | string {
  if (hasWords(statement, start, 'NAMES')) return readNames(statement, start + 1);
  const at = scopes.has(upperAt(statement, start)) ? start + 1 : start;
  const name = (nameOf(statement.tokens[at]) ?? statement.tokens[at]?.text ?? '').toLowerCase();
  const limit = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
  const assigned = upperAt(statement, at + 1);
  if (limit === undefined || (assigned !== '=' && assigned !== ':=')) return `SET ${name}`.trim();
  const isSigned = hasWords(statement, at + 2, '-') || hasWords(statement, at + 2, '+');
  const value = statement.tokens[isSigned ? at + 3 : at + 2];
  if (value === undefined || value.kind === 'sign') return 'SET with a computed value';
  const why = limit(value);
  return why ?? { end: isSigned ? at + 4 : at + 3 };
}

function readNames(statement: MysqlStatement, at: number): { end: number } | string {
  const why = limitCharset(statement.tokens[at]);
  if (why !== null) return why;
  if (!hasWords(statement, at + 1, 'COLLATE')) return { end: at + 1 };
  return /^['"]?utf8(mb[34])?_\w+['"]?$/i.test(statement.tokens[at + 2]?.text ?? '')
    ? { end: at + 3 }
    : 'a collation of another character set';
}

type Limit = (value: MysqlToken) => string | null;

const anything: Limit = () => null;

export function limitCharset(value: MysqlToken | undefined): string | null {
  const plain = /^(['"]?)(utf8|utf8mb3|utf8mb4)\1$/i.test(value?.text ?? '');
  return plain ? null : 'the character set must be utf8, utf8mb3 or utf8mb4';
}

/** The server compares mode names without case and accents, so only plain letters are accepted. */
function limitMode(value: MysqlToken): string | null {
  const match = /^(['"])([\w, ]*)\1$/.exec(value.text);
  if (match === null || /[^\x00-\x7f]/.test(value.text)) return 'sql_mode must be a plain string literal';
  const modes = (match[2] ?? '').split(',').map((mode) => mode.trim().toUpperCase());
  const changing = modes.find((mode) => readingModes.has(mode) || /^\d+$/.test(mode));
  return changing === undefined ? null : `the mode ${changing} changes how text is read`;
}

const changesReading = (mode: string): boolean => readingModes.has(mode.toUpperCase());

/** The modes of a session as the server lists them, without those that change how text is read or what it means. */
export const withoutReadingModes = (modes: string): string =>
  keepModes(modes, (mode) => !changesReading(mode) && !meaningModes.has(mode.toUpperCase()));

/** The same, with those that a text may set itself. */
export const modesAllowed = (modes: string): string => keepModes(modes, (mode) => !changesReading(mode));

const keepModes = (modes: string, isKept: (mode: string) => boolean): string => modes.split(',').filter(isKept).join(',');

/** A text may set these modes itself; whoever reads the text then sees them. */
const meaningModes = new Set(['EMPTY_STRING_IS_NULL', 'SIMULTANEOUS_ASSIGNMENT']);
const scopes = new Set(['LOCAL', 'SESSION']);
const allowed: Readonly<Record<string, Limit>> = {
  time_zone: anything,
  sql_mode: limitMode,
  character_set_client: limitCharset,
  wait_timeout: anything,
  lock_wait_timeout: anything,
};
const readingModes = new Set(
  `ANSI ANSI_QUOTES NO_BACKSLASH_ESCAPES IGNORE_SPACE PIPES_AS_CONCAT HIGH_NOT_PRECEDENCE
  ORACLE MSSQL DB2 POSTGRESQL MAXDB MYSQL323 MYSQL40`.split(/\s+/),
);
