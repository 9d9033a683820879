import { ddl, type Form, type FormLimits } from '../form.js';
import { type Reason, refuseFor } from '../reasons.js';
import { notUnderstood, type Refused } from '../verdict.js';
import { alter, analyzeTable, create, drop, isTableNext, rename } from './ddl-forms.js';
import { explain } from './explain.js';
import type { MysqlForm, Rule } from './form.js';
import { mysqlSetting } from './settings.js';
import { show } from './show.js';
import { hasWords, type MysqlStatement, skipWords, upperAt } from './statement.js';
import { readWith } from './with.js';

/** SQ-71 to SQ-73 by the first words; a statement without a row is refused (SQ-4). */
export function mysqlFormOf(statement: MysqlStatement, limits: FormLimits): MysqlForm | Refused {
  const first = upperAt(statement, 0);
  if (describing.has(first)) return explain(statement, (at) => workOf(statement, at));
  const work = workOf(statement, 0);
  if (work !== null) return work;
  const row = Object.hasOwn(rows, first) ? rows[first] : undefined;
  if (row === undefined) return notUnderstood(`a statement that begins with ${first || 'quoted text'}`);
  const form = typeof row === 'function' ? row(statement, 1, limits) : row;
  const words = statement.tokens.slice(0, typeof row === 'function' ? 2 : 1).map(({ upper }) => upper);
  if (form === null || typeof form === 'string')
    return refuseFor(form ?? 'not understood', words.join(' ').trim() || 'quoted text');
  return 'verdict' in form ? form : { ...form, verbAt: 0 };
}

/** Whether the first words can begin a statement, accepted or not. */
export function isStatementStart(statement: MysqlStatement): boolean {
  const first = upperAt(statement, skipWords(statement, 0, opening));
  return first === 'WITH' || [queryVerbs, dmlVerbs, describing].some((verbs) => verbs.has(first)) || Object.hasOwn(rows, first);
}

/** The query or DML statement that begins here, or null. */
function workOf(statement: MysqlStatement, at: number): MysqlForm | Refused | null {
  const verbAt = verbBehindWith(statement, skipWords(statement, at, opening));
  const inParentheses = upperAt(statement, at) === '(';
  const verb = verbAt === null ? 'WITH' : upperAt(statement, skipWords(statement, verbAt, opening));
  if (verbAt === null || (verbAt !== at && !inParentheses && (verb === 'INSERT' || verb === 'REPLACE')))
    return refuseFor('not understood', 'WITH');
  if (queryVerbs.has(verb)) return { class: 'read', kind: 'query', type: 'SELECT', inside: 'runs', verbAt };
  if (inParentheses || !dmlVerbs.has(verb) || upperAt(statement, verbAt) === '(') return null;
  if (verb === 'DELETE' && hasWords(statement, verbAt + 1, 'HISTORY')) return refuseFor('not understood', 'DELETE HISTORY');
  return { class: 'write', kind: 'dml', type: verb === 'REPLACE' ? 'DML' : verb, inside: 'runs', verbAt };
}

/** Null when there is a WITH here in a form that readWith does not know. */
function verbBehindWith(statement: MysqlStatement, at: number): number | null {
  return upperAt(statement, at) === 'WITH' ? (readWith(statement, at)?.end ?? null) : at;
}

const opening = new Set(['(']);
const queryVerbs = new Set(['SELECT', 'VALUES', 'TABLE']);
const dmlVerbs = new Set(['INSERT', 'REPLACE', 'UPDATE', 'DELETE']);
const describing = new Set(['EXPLAIN', 'DESCRIBE', 'DESC']);

const rows: Readonly<Record<string, Form | Reason | Rule>> = {
  SHOW: show,
  SET: mysqlSetting,
  CALL: { class: 'write', kind: 'utility', type: 'DML', inside: 'runs' },
  ANALYZE: analyzeTable,
  CREATE: create,
  ALTER: alter,
  RENAME: rename,
  OPTIMIZE: (statement, at) => (isTableNext(statement, at) ? ddl('DDL') : null),
  DROP: drop,
  TRUNCATE: { ...ddl('TRUNCATE'), destructive: true },
  GRANT: 'privileges',
  REVOKE: 'privileges',
  DO: 'code',
  BEGIN: 'transaction control',
  START: 'transaction control',
  COMMIT: 'transaction control',
  ROLLBACK: 'transaction control',
  SAVEPOINT: 'transaction control',
  RELEASE: 'transaction control',
  XA: 'transaction control',
  LOCK: 'locks',
  UNLOCK: 'locks',
  PREPARE: 'session state',
  EXECUTE: 'session state',
  DEALLOCATE: 'session state',
  USE: 'session state',
  HANDLER: 'session state',
  KILL: 'session state',
  FLUSH: 'session state',
  RESET: 'session state',
  LOAD: 'server files or client data',
  IMPORT: 'server files or client data',
  INSTALL: 'infrastructure',
  UNINSTALL: 'infrastructure',
  CHANGE: 'infrastructure',
  STOP: 'infrastructure',
  PURGE: 'infrastructure',
};
