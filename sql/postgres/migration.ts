import type { Dialect } from '../../domain/statement.js';
import { sliceOf } from '../classify-text.js';
import type { ReviewedStatement } from '../collected-review.js';
import { findAmbiguity } from '../lexical-check.js';
import { type CutMigration, lineCounter } from '../migration-text.js';
import { type Reason, wordsOfTag } from '../reasons.js';
import { type ReservedNames, reservedIn, reservedSchemaIn, stringsOf } from '../reserved-table.js';
import { type Tree, type TreeNode, taggedOf, textOf } from '../tree.js';
import { reviewedBlock } from './do-block.js';
import { reviewedOf } from './migration-review.js';
import type { ParsedStatement, Parser } from './parser.js';
import { valuesOf } from './settings.js';

/** AP-22 for PostgreSQL by the server's own grammar. A text of unknown dialect must mean the same to MySQL's lexer (SQ-2). */
export function cutPostgresMigration(parser: Parser, dialect: Dialect | null, names: ReservedNames): CutMigration {
  return (sql, note) => {
    const ambiguity = dialect === null ? findAmbiguity(sql) : null;
    if (ambiguity !== null) return `the dialect of the database is not known, and the text holds ${ambiguity}`;
    const parsed = parser.parse(sql);
    if (!parsed.ok) return { unparsed: parsed.message };
    const bytes = Buffer.from(sql);
    const statements = [];
    const lineAt = lineCounter(bytes);
    for (const statement of parsed.statements) {
      const { tag, body } = taggedOf(statement.tree);
      const refused = refusedSetting(tag, body) ?? refusedInside(tag, body) ?? refusedName(tag, body, names);
      if (refused !== null) return refused;
      const text = sliceOf(bytes, statement);
      note?.(reviewed(parser, tag, body, text), lineAt(startOf(statement, text)));
      statements.push({ text, rowsOnly: rowsOnly.has(tag), mayCommit: mayCommit.has(tag) });
    }
    return statements;
  };
}

const reviewed = (parser: Parser, tag: string, body: TreeNode, text: string): ReviewedStatement =>
  tag === 'DoStmt' ? reviewedBlock(parser, body, text, reviewedOf) : reviewedOf(tag, body);

/** The byte where the statement's first word stands: the parser's slice begins with the blanks and comments before it. */
function startOf({ start }: ParsedStatement, text: string): number {
  const [before = ''] = /^(?:\s|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*/.exec(text) ?? [];
  return start + Buffer.byteLength(before);
}

/** SET TRANSACTION and similar statements, SET ROLE, SET SESSION AUTHORIZATION, and their RESET. */
function refusedSetting(tag: string, body: TreeNode): string | null {
  if (tag !== 'VariableSetStmt') return null;
  const name = textOf(body.name).toLowerCase();
  if (body.kind === 'VAR_SET_MULTI') return `transaction control: SET ${textOf(body.name)}`;
  if (name === 'role' || name === 'session_authorization') return `privileges: SET ${name}`;
  const [value, ...more] = body.kind === 'VAR_SET_VALUE' ? valuesOf(body) : [];
  const allowed = Object.hasOwn(readAs, name) ? readAs[name] : undefined;
  const changesReading = allowed !== undefined && value !== undefined && (more.length > 0 || !allowed.test(value));
  return changesReading ? `session state: SET ${name}, which changes how text is read` : null;
}

/** Settings that decide how later texts are read may only be set to the value they already have (HD-30); dumps begin that way. */
const readAs: Readonly<Record<string, RegExp>> = {
  standard_conforming_strings: /^(on|true|yes|1)$/i,
  client_encoding: /^utf-?8$/i,
};

function refusedName(tag: string, body: TreeNode, names: ReservedNames): string | null {
  const reserved = reservedIn(stringsOf(body), names) ?? reservedSchemaIn(tag, body, names);
  return reserved === null ? null : `reserved_table: ${reserved}`;
}

/** Visits every node in any field: EXPLAIN and CREATE TABLE AS hold statements too. */
function refusedInside(tag: string, body: Tree): string | null {
  const open: { field: string; value: Tree }[] = [{ field: tag, value: body }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { field, value } = next;
    if (typeof value !== 'object' || value === null) continue;
    const reason = Object.hasOwn(refusedTags, field) ? refusedTags[field] : undefined;
    if (reason !== undefined) return `${reason}: ${wordsOf(field, value)}`;
    // Elements of a list are tagged themselves.
    if (Array.isArray(value)) for (const element of value) open.push({ field: '', value: element });
    else for (const [name, child] of Object.entries(value)) open.push({ field: name, value: child });
  }
  return null;
}

function wordsOf(tag: string, value: Tree): string {
  if (tag !== 'TransactionStmt') return wordsOfTag(tag);
  const { kind } = value as TreeNode;
  return textOf(kind).replace('TRANS_STMT_', '').replaceAll('_', ' ');
}

const refusedTags: Readonly<Record<string, Reason>> = {
  TransactionStmt: 'transaction control',
  PrepareStmt: 'session state',
  ExecuteStmt: 'session state',
  DeallocateStmt: 'session state',
  DeclareCursorStmt: 'session state',
  FetchStmt: 'session state',
  ClosePortalStmt: 'session state',
  DiscardStmt: 'session state',
  ListenStmt: 'session state',
  LoadStmt: 'code',
  CopyStmt: 'server files or client data',
};

const mayCommit: ReadonlySet<string> = new Set(['CallStmt', 'DoStmt']);
const rowsOnly: ReadonlySet<string> = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'SelectStmt']);
