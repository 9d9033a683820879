import { randomBytes } from 'node:crypto';
import mysql, { type Connection } from 'mysql2/promise';
import { askEngines } from './ask-engines.js';
import { noteNotRun } from './not-run.js';

export interface MysqlServer {
  /** Address of the server for its superuser. */
  url: string;
  /** Makes a new database, a login with all rights in it and one that can only SELECT. `drop` them after the test file. */
  createDatabase(): Promise<MysqlDatabase>;
}

export interface MysqlDatabase {
  name: string;
  url: string;
  readUrl: string;
  adminUrl: string;
  drop: () => Promise<void>;
}

/**
 * The MySQL or MariaDB of the run (DV-12), which starts when first asked for. Null if there is none: give the file's
 * `import.meta.url` and skip its tests, which the run names at its end.
 */
export async function findMysql(testFile: string): Promise<MysqlServer | null> {
  const answer = await askEngines('/mysql');
  if ('url' in answer) return { url: answer.url, createDatabase: () => createMysqlDatabase(answer.url) };
  noteNotRun(testFile, answer.missing);
  return null;
}

/** Runs `work` on a connection of its own. */
export async function withMysql<T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: 10_000 });
  try {
    return await work(connection);
  } finally {
    await connection.end();
  }
}

/** The same on a given server, by the address of its superuser. */
export async function createMysqlDatabase(url: string): Promise<MysqlDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const [writer, reader] = [`${name}_w`, `${name}_r`];
  const run = async (statements: string[]) =>
    withMysql(url, async (connection) => {
      for (const statement of statements) await connection.query(statement);
    });
  await run([
    `create database ${name} character set utf8mb4`,
    ...[writer, reader].map((user) => `create user '${user}'@'%' identified by 'test'`),
    `grant all on ${name}.* to '${writer}'@'%'`,
    `grant select on ${name}.* to '${reader}'@'%'`,
  ]);
  const address = (parts: object) => Object.assign(new URL(url), { pathname: `/${name}`, ...parts }).href;
  return {
    name,
    url: address({ username: writer, password: 'test' }),
    readUrl: address({ username: reader, password: 'test' }),
    adminUrl: address({}),
    drop: () => run([`drop database if exists ${name}`, `drop user '${writer}'@'%'`, `drop user '${reader}'@'%'`]),
  };
}
