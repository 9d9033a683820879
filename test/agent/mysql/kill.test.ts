import mysql, { type Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { expectNeverTwice } from '../../support/kill-rounds.js';
import { findMysql, type MysqlDatabase } from '../../support/mysql.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('an agent of a MySQL target that is killed', () => {
  let database: MysqlDatabase;
  let root: Connection;
  beforeAll(async () => {
    database = await server!.createDatabase();
    root = await mysql.createConnection({ uri: database.adminUrl, multipleStatements: true });
    await root.query('create table counters (id int primary key, n int); insert into counters values (1, 0)');
  });
  afterAll(async () => {
    await root?.end();
    await database?.drop();
  });

  it('AP-I3, AP-I4: never applies a change twice or half, at any point of a run', async () => {
    const done = "select fence from svc_execution_marker where request_id = ? and state = 'done'";
    const rows = async (sql: string, values: string[] = []) =>
      (await root.query(sql, values))[0] as { n: number; fence: number }[];
    await expectNeverTwice({
      url: database.url,
      detail: 'update counters set n = n + 1 where id = 1; select sleep(0.03)',
      counter: async () => (await rows('select n from counters'))[0]!.n,
      doneFences: async (requestId) => (await rows(done, [requestId])).map(({ fence }) => fence),
    });
  }, 120_000);
});
