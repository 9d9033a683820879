import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limitMigrationTime, limitTime } from '../../../agent/drivers/mysql/limits.js';
import { createMysqlPool } from '../../../agent/drivers/mysql/pool.js';
import { SINCE } from '../../../agent/marker.js';
import { startFakeGateway } from '../../support/fake-gateway.js';
import { findMysql, type MysqlDatabase, withMysql } from '../../support/mysql.js';
import { startTestAgent } from '../../support/test-agent.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('connections to MySQL', () => {
  let database: MysqlDatabase;
  let pool: ReturnType<typeof createMysqlPool>;
  beforeAll(async () => {
    database = await server!.createDatabase();
    pool = createMysqlPool({ url: database.url, readOnly: false, max: 1, maxRowBytes: 1e6, connectTimeoutMs: 10_000 });
    await withMysql(database.url, (connection) => connection.query('create table parts (id int primary key)'));
  });
  afterAll(async () => {
    await pool?.close();
    await database?.drop();
  });

  it('MI-36, AP-30: 0 lifts the limit of the server or the account for migrations, and sets none for other statements', async () => {
    const session = (await pool.acquire())!;
    const limit = session.isMariadb ? 'max_statement_time' : 'max_execution_time';
    const limitOf = async () => Number((await session.query(`select @@session.${limit}`))[0]?.[0]);
    await session.run(`set session ${limit} = 7`);
    await limitTime(session, 0);
    expect(await limitOf()).toBe(7);
    await limitMigrationTime(session, 0);
    expect(await limitOf()).toBe(0);
    for (const set of [limitTime, limitMigrationTime]) {
      await set(session, 2);
      expect(await limitOf()).toBe(session.isMariadb ? 2 : 2000);
      await limitTime(session, 3);
    }
    await session.release();
  });

  it('AP-21: a text is sent as UTF-8 whatever character set the session has', async () => {
    const session = (await pool.acquire())!;
    await session.run('set names latin1');
    // In one byte per letter, ħ (U+0127) would be a quote.
    expect(await session.query(`select 'ħ', hex('ħ, 1, ħ')`)).toEqual([['ħ', 'C4A72C20312C20C4A7']]);
    await session.release();
  });

  it('AP-84, AP-I6: one that is used again has nothing of the job before it', async () => {
    const first = (await pool.acquire())!;
    for (const statement of [
      'set @left = 1',
      'set session transaction isolation level serializable',
      "set session sql_mode = '', session time_zone = '+05:00', session autocommit = 0",
      'create temporary table scratch (id int)',
      "select get_lock('left', 0)",
      "prepare later from 'select 1'",
      'insert into parts values (1)',
    ])
      await first.run(statement);
    await first.release();
    const second = (await pool.acquire())!;
    expect(second.thread.id).toBe(first.thread.id);
    const state = `select @left, @@session.time_zone, @@session.autocommit, @@session.sql_mode <> '', is_free_lock('left'), (select count(*) from parts)`;
    expect(await second.query(state)).toEqual([[null, '+00:00', '1', '1', '1', '0']]);
    await expect(second.run('select * from scratch')).rejects.toMatchObject({ errno: 1146 });
    const isolation = second.isMariadb ? 'tx_isolation' : 'transaction_isolation';
    expect(await second.query(`select @@session.${isolation} = @@global.${isolation}`)).toEqual([['1']]);
    await expect(second.run('execute later')).rejects.toMatchObject({ errno: 1243 });
    await second.release();
  });

  it('AP-84: one whose state is in doubt is closed, and so is one that cannot be reset', async () => {
    const first = (await pool.acquire())!;
    first.distrust();
    await first.release();
    const second = (await pool.acquire())!;
    expect(second.thread.id).not.toBe(first.thread.id);
    await withMysql(database.adminUrl, (root) => root.query(`kill ${second.thread.id}`));
    await second.release();
    const third = (await pool.acquire())!;
    expect(third.thread.id).not.toBe(second.thread.id);
    expect(await third.query('select 1')).toEqual([['1']]);
    await third.release();
  });

  it('AP-56: marker rows older than retention_days are deleted at the start, with those of unfinished attempts', async () => {
    const gateway = await startFakeGateway();
    const start = async (days: number) => {
      const polled = gateway.nextPoll((body) => body.limit !== 0);
      const agent = startTestAgent({ gateway, url: database.url, tables: `[marker]\nretention_days = ${days}\n` });
      await polled;
      return agent;
    };
    // What it deletes at its start may still run in the server after its end.
    const first = await start(3650);
    first.stop();
    await first.exit;
    const rows = [29, 31, 400].flatMap((days) =>
      ['tx', 'auto'].map((mode) => `('r${days}', 1, '${mode}', '${mode}', 'open', 'e', 'a', 'd', now() - interval ${days} day)`),
    );
    const columns = 'request_id, fence, step, mode, state, execution_id, agent_id, approval_digest, created_at';
    await withMysql(database.adminUrl, (root) =>
      root.query(`insert into svc_execution_marker (${columns}) values ${rows.join(', ')}`),
    );
    const second = await start(30);
    try {
      await expect.poll(() => second.lines.filter((line) => line.includes('old marker rows deleted'))).toHaveLength(1);
      expect(second.lines.join('\n')).toContain('"rows":4');
      const [left] = await withMysql(database.adminUrl, (root) =>
        root.query('select distinct request_id from svc_execution_marker'),
      );
      expect(left).toEqual([{ request_id: SINCE }, { request_id: 'r29' }]);
    } finally {
      second.stop();
      await second.exit;
      await gateway.close();
    }
  });
});
