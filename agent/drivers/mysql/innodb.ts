import { lexMysql } from '../../../sql/mysql/lexer.js';
import type { MysqlSession } from './session.js';

/**
 * Whether every table of the session's database, and of the databases that the texts name, rolls its changes back (AP-34, MI-39).
 * Does not see tables elsewhere that a view, trigger or function reaches.
 */
export async function isInnodbOnly(session: MysqlSession, texts: readonly string[]): Promise<boolean> {
  const names = [...new Set(texts.flatMap(namesBeforeDots))];
  for (const database of [null, ...(await databasesOf(session, names))]) if (await hasOther(session, database)) return false;
  return true;
}

async function hasOther(session: MysqlSession, database: string | null): Promise<boolean> {
  // One query per database: when asked about several, MariaDB opens the tables of all others too.
  const others = await session.query(
    `select 1 from information_schema.tables where table_schema = ${database === null ? 'database()' : '?'}
     and table_type in ('BASE TABLE', 'SYSTEM VERSIONED') and not (engine <=> 'InnoDB') limit 1`,
    database === null ? [] : [database],
  );
  return others.length > 0;
}

async function databasesOf(session: MysqlSession, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await session.query(
    `select schema_name from information_schema.schemata where schema_name <> coalesce(database(), '') and schema_name in (${names.map(() => '?').join(', ')})`,
    names,
  );
  return rows.map(([name]) => name ?? '');
}

/** The names followed by a dot; database names are among them. */
function namesBeforeDots(text: string): string[] {
  const lexed = lexMysql(text);
  const tokens = lexed.ok ? lexed.tokens : [];
  return tokens.flatMap(({ kind, text: written }, at) => {
    if (tokens[at + 1]?.upper !== '.' || (kind !== 'word' && kind !== 'name')) return [];
    return [kind === 'name' ? written.slice(1, -1).replaceAll('``', '`') : written];
  });
}
