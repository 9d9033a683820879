import type { MigrationStatement } from '../../../sql/migration-text.js';
import { lexMysql, type MysqlToken } from '../../../sql/mysql/lexer.js';
import { asMysqlError } from './errors.js';
import { type MysqlSession, quoted } from './session.js';

/** A session's state before a migration, restored before the next one (MI-36). */
export interface Before {
  database: string;
  variables: ReadonlyMap<string, string>;
}

/**
 * Undoes what a migration left in its session: all changed system variables, the user variables and temporary tables that its
 * texts name, and USE. Resetting the connection would release the locks.
 */
export async function takeBack(session: MysqlSession, before: Before, statements: readonly MigrationStatement[]): Promise<void> {
  if (before.database !== '') await session.run(`use ${quoted(before.database)}`);
  const named = statements.flatMap(({ text }) => leftBy(text));
  for (const text of new Set(named)) await session.run(text);
  for (const [name, value] of await variablesOf(session)) {
    if (value !== before.variables.get(name) && !restless.has(name)) await setDefault(session, name);
  }
  await session.run('set session timestamp = default');
  await session.restoreSettings();
}

/** The server lists its own variables among those of a session. They change as others work: its place in the binary log with every commit. */
async function setDefault(session: MysqlSession, name: string): Promise<void> {
  try {
    await session.run(`set session ${quoted(name)} = default`);
  } catch (error) {
    if (!notOfSession.has(asMysqlError(error)?.errno ?? 0)) throw error;
  }
}

/** "Is a GLOBAL variable", "is a read only variable". */
const notOfSession = new Set([1229, 1238]);

/** Variables that change by themselves. */
const restless = new Set([
  'identity',
  'last_insert_id',
  'rand_seed1',
  'rand_seed2',
  'timestamp',
  'error_count',
  'warning_count',
  'last_gtid',
]);

/** The session's system variables by name. */
export async function variablesOf(session: MysqlSession): Promise<Map<string, string>> {
  return new Map((await session.query('show session variables')).map(([name, value]) => [name ?? '', value ?? '']));
}

/** The statements that undo what a text may have left, by name. */
function leftBy(text: string): string[] {
  const lexed = lexMysql(text);
  if (!lexed.ok) return [];
  const { tokens } = lexed;
  const variables = tokens.flatMap((_, at) => variableAt(tokens, at));
  const table = temporaryTable(tokens);
  return [
    ...variables.map((name) => `set @${name} = null`),
    ...(table === '' ? [] : [`drop temporary table if exists ${table}`]),
  ];
}

/** A user variable at a single `@` that does not introduce an account's host. */
function variableAt(tokens: readonly MysqlToken[], at: number): string[] {
  const [before, sign, name] = [tokens[at - 1], tokens[at], tokens[at + 1]];
  if (sign?.upper !== '@' || name?.start !== sign.end || name.kind === 'sign') return [];
  if (before?.end === sign.start && (before.upper === '@' || before.kind !== 'sign')) return [];
  return [name.text];
}

/** The table of CREATE TEMPORARY TABLE, as written. */
function temporaryTable(tokens: readonly MysqlToken[]): string {
  const at = tokens.findIndex(({ upper }) => upper === 'TEMPORARY');
  if (tokens[0]?.upper !== 'CREATE' || at === -1 || tokens[at + 1]?.upper !== 'TABLE') return '';
  const behindIf = tokens[at + 2]?.upper === 'IF' ? at + 5 : at + 2;
  const [first, dot, second] = tokens.slice(behindIf);
  return dot?.upper === '.' ? `${first?.text}.${second?.text}` : (first?.text ?? '');
}
