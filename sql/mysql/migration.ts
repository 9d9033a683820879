import { type CutMigration, lineCounter } from '../migration-text.js';
import type { Reason } from '../reasons.js';
import type { ReservedNames } from '../reserved-table.js';
import { beginsRoutine, isInCompound } from './compound.js';
import { lexMysql, type MysqlToken } from './lexer.js';
import { reviewedMysql } from './migration-review.js';
import { settingOfReading } from './reading-settings.js';
import { reservedDatabaseIn, reservedInTokens } from './reserved-table.js';
import { labelOutside } from './statement.js';

/** AP-22 for MySQL and MariaDB, at token level. Bodies of procedures, functions, triggers and events stay whole. */
export const cutMysqlMigration =
  (names: ReservedNames): CutMigration =>
  (sql, note) => {
    const lexed = lexMysql(sql);
    if (!lexed.ok) return { unparsed: lexed.message };
    const statements = [];
    const lineAt = lineCounter(sql);
    for (const tokens of cut(lexed.tokens)) {
      const refused = refusedWords(tokens) ?? refusedName(tokens, names);
      if (refused !== null) return refused;
      const isCode = beginsRoutine(tokens, 0);
      if (!isCode && tokens.some(({ upper }) => upper === ':')) return { unparsed: labelOutside };
      const text = sql.slice(tokens[0]!.start, tokens.at(-1)!.end);
      note?.(reviewedMysql(tokens, isCode), lineAt(tokens[0]!.start));
      statements.push({ text, rowsOnly: rowsOnly.has(tokens[0]!.upper), mayCommit: tokens[0]!.upper === 'CALL' });
    }
    return statements;
  };

function refusedName(tokens: readonly MysqlToken[], names: ReservedNames): string | null {
  const reserved = reservedInTokens(tokens, names) ?? reservedDatabaseIn(tokens, names);
  return reserved === null ? null : `reserved_table: ${reserved}`;
}

/** The tokens between semicolons; empty statements are dropped. */
function cut(tokens: readonly MysqlToken[]): MysqlToken[][] {
  const statements: MysqlToken[][] = [];
  let first = 0;
  let inside = isInCompound(tokens, first);
  for (let at = 0; at <= tokens.length; at += 1) {
    const body = at < tokens.length && inside(at);
    if (at < tokens.length && (tokens[at]?.upper !== ';' || body)) continue;
    if (at > first) statements.push(tokens.slice(first, at));
    first = at + 1;
    inside = isInCompound(tokens, first);
  }
  return statements;
}

/** The reason why AP-22 refuses the statement, or null. */
function refusedWords(tokens: readonly MysqlToken[]): string | null {
  const words = tokens.map(({ upper }) => upper);
  const first = words[0] ?? '';
  const reason = Object.hasOwn(refusedFirst, first) ? refusedFirst[first] : undefined;
  if (reason !== undefined) return `${reason}: ${first}`;
  if (first === 'DROP' && words[1] === 'PREPARE') return 'session state: DROP PREPARE';
  const file = words.findIndex((word, at) => word === 'INTO' && (words[at + 1] === 'OUTFILE' || words[at + 1] === 'DUMPFILE'));
  if (file !== -1) return `server files or client data: INTO ${words[file + 1]}`;
  return first === 'SET' ? refusedSetting(tokens) : null;
}

/** SET TRANSACTION in any scope, SET ROLE, SET SESSION AUTHORIZATION, and the settings that decide when work is committed or how text is read. */
function refusedSetting(tokens: readonly MysqlToken[]): string | null {
  const words = tokens.map(({ upper, kind, text }) => (kind === 'name' ? text.slice(1, -1).toUpperCase() : upper));
  const scoped = scopes.has(words[1] ?? '') ? 2 : 1;
  const name = words[scoped] ?? '';
  if (words[1] === 'STATEMENT') {
    const behind = words.indexOf('FOR') + 1;
    return behind === 0 ? null : refusedWords(tokens.slice(behind));
  }
  if (name === 'TRANSACTION' || name === 'CHARACTERISTICS') return `transaction control: SET ${name}`;
  if (name === 'ROLE' || name === 'AUTHORIZATION') return `privileges: SET ${name}`;
  // A user variable may have any name: `@autocommit`, unlike `@@autocommit`, is harmless.
  const commits = words.find((word, at) => committing.has(word) && (words[at - 1] !== '@' || words[at - 2] === '@'));
  if (commits !== undefined) return `transaction control: SET ${commits}`;
  const reading = settingOfReading(tokens);
  return reading === null ? null : `session state: SET ${reading}, which changes how text is read`;
}

const scopes = new Set(['SESSION', 'LOCAL', 'GLOBAL']);
const committing = new Set(['AUTOCOMMIT', 'COMPLETION_TYPE']);
const rowsOnly = new Set(['INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'SELECT', 'WITH', 'VALUES', 'TABLE', '(']);

const refusedFirst: Readonly<Record<string, Reason>> = {
  BEGIN: 'transaction control',
  START: 'transaction control',
  COMMIT: 'transaction control',
  END: 'transaction control',
  ROLLBACK: 'transaction control',
  ABORT: 'transaction control',
  SAVEPOINT: 'transaction control',
  RELEASE: 'transaction control',
  XA: 'transaction control',
  PREPARE: 'session state',
  EXECUTE: 'session state',
  DEALLOCATE: 'session state',
  DECLARE: 'session state',
  OPEN: 'session state',
  FETCH: 'session state',
  CLOSE: 'session state',
  HANDLER: 'session state',
  DISCARD: 'session state',
  LISTEN: 'session state',
  DELIMITER: 'session state',
  LOCK: 'locks',
  UNLOCK: 'locks',
  COPY: 'server files or client data',
  LOAD: 'server files or client data',
};
