import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../../agent/config.js';
import { createDriver } from '../../../agent/drivers/create.js';
import type { Driver } from '../../../agent/drivers/driver.js';
import { writingRights } from '../../../agent/drivers/mysql/grants.js';
import { packetMeter } from '../../../agent/drivers/mysql/packets.js';
import { mysqlPlanProblem } from '../../../agent/drivers/mysql/read-plan.js';
import { readMysqlUrl } from '../../../agent/drivers/mysql/url.js';
import { mysqlMarkerDdl } from '../../../agent/marker.js';
import { defaultTimings } from '../../../agent/timings.js';
import { findMysql, type MysqlDatabase, withMysql } from '../../support/mysql.js';

const server = await findMysql(import.meta.url);

describe('pieces of the MySQL driver', () => {
  it('reads an address and names what is wrong with one, without its secrets', () => {
    expect(readMysqlUrl('mysql://us%40er:p%3Ass@[::1]/d%20b')).toMatchObject({
      host: '::1',
      port: 3306,
      user: 'us@er',
      password: 'p:ss',
      database: 'd b',
      tls: { mode: 'disabled', ca: null },
    });
    expect(readMysqlUrl('mariadb://u@h:1/?ssl-mode=VERIFY_IDENTITY')).toMatchObject({
      database: null,
      tls: { mode: 'verify_identity', ca: null },
    });
    expect(readMysqlUrl('mysql://u:secret@h/d?multipleStatements=true')).toBe('unknown option "multipleStatements"');
    expect(readMysqlUrl('mysql://u@[::1]/?ssl-mode=VERIFY_IDENTITY')).toMatch(/needs the name of the host/);
    expect(readMysqlUrl('mysql://u:secret@h/d?ssl-mode=PREFERRED')).toMatch(/^ssl-mode must be one of DISABLED, REQUIRED/);
    expect(readMysqlUrl('mysql://h/d')).toBe('names no host or no user');
  });

  it('AP-72: measures packets and their continuations, however the stream is cut', () => {
    const packet = (length: number) =>
      Buffer.concat([Buffer.from([length & 255, (length >> 8) & 255, length >> 16, 0]), Buffer.alloc(length)]);
    const fits = (stream: Buffer, size: number, limit: number) => {
      const meter = packetMeter(limit);
      for (let at = 0; at < stream.length; at += size) if (!meter(stream.subarray(at, at + size))) return false;
      return true;
    };
    const small = Buffer.concat([packet(0), packet(70_000), packet(5)]);
    for (const size of [1, 3, 4096, small.length]) {
      expect([fits(small, size, 70_000), fits(small, size, 69_999)]).toEqual([true, false]);
    }
    const large = Buffer.concat([packet(0xffffff), packet(100), packet(0xffffff), packet(0)]);
    expect([fits(large, 65_536, 0xffffff + 100), fits(large, 65_536, 0xffffff + 99)]).toEqual([true, false]);
  });

  it('AP-31: sees a write in a plan', () => {
    expect(mysqlPlanProblem('{"query_block":{"select_id":1,"table":{"table_name":"update"}}}')).toBeNull();
    expect(mysqlPlanProblem('{"query_block":{"nested_loop":[{"table":{"delete":1}}]}}')).toBe(
      'the plan has the operation delete',
    );
    expect(mysqlPlanProblem('{')).toBe('the plan is not readable');
  });

  it('tells the rights of an account that may write', () => {
    expect(writingRights('GRANT USAGE ON *.* TO `r`@`%`')).toEqual([]);
    expect(writingRights('GRANT SELECT, SHOW VIEW ON `d`.* TO `r`@`%`')).toEqual([]);
    expect(writingRights('GRANT SELECT (a, b), UPDATE (a, c) ON `d`.`t` TO `r`@`%`')).toEqual(['UPDATE']);
    expect(writingRights('GRANT ALL PRIVILEGES ON *.* TO `root`@`%` WITH GRANT OPTION')).toEqual(['ALL PRIVILEGES']);
  });
});

describe.skipIf(server === null)('the start of an agent with a MySQL target', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mysql-start-'));
  let database: MysqlDatabase;
  beforeAll(async () => {
    database = await server!.createDatabase();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await database?.drop();
  });

  /** What connecting with these addresses comes to, as `--check` does it or as the start does. */
  async function connect(url: string, { readUrl = url, head = '', onlyLook = false } = {}) {
    const file = join(folder, 'agent.toml');
    const target = `[databases.shop.staging]\nurl = "${url}"\nread_url = "${readUrl}"\n`;
    writeFileSync(file, `${head}\n[server]\nurl = "http://127.0.0.1:1"\nagent_token = "svc_test"\n${target}`);
    const config = loadAgentConfig(file, {});
    const driver: Driver = createDriver(config.databases[0]!, config, { ...defaultTimings, httpConnectMs: 3000 });
    try {
      return await driver.connect({ onlyLook });
    } finally {
      await driver.close();
    }
  }
  const tables = () => withMysql(database.adminUrl, async (root) => (await root.query('show tables'))[0]);
  const changed = (parts: object) => Object.assign(new URL(database.url), parts).href;

  it('AP-05: says in words why it cannot connect, and holds refused credentials for final', async () => {
    await expect(connect(changed({ password: 'wrong' }))).rejects.toMatchObject({
      kind: 'authentication',
      message: 'error 1045, the user or the password is wrong, or the account may only connect with TLS (ssl-mode)',
    });
    await expect(connect(changed({ pathname: '/nowhere' }))).rejects.toMatchObject({
      kind: 'connection',
      message: 'error 1044, there is no such database, or the user may not use it',
    });
    await expect(connect(changed({ port: '1' }))).rejects.toMatchObject({
      kind: 'connection',
      message: 'ECONNREFUSED, connection refused',
    });
    await expect(connect(`${database.url}?ssl-mode=REQUIRED&ssl-ca=/nowhere.pem`)).rejects.toMatchObject({
      message: 'the file of ssl-ca cannot be read',
    });
  });

  it.each([
    ['account lock', 'error 4151, the account is locked'],
    ['password expire', 'error 1820, the password of the account has expired'],
  ])('AP-05: says in words what keeps an account out: %s', async (limit, message) => {
    const user = `${database.name}_l`;
    const root = (sql: string) => withMysql(database.adminUrl, (connection) => connection.query(sql));
    try {
      await root(`create user '${user}'@'%' identified by 'test' ${limit}`);
      await root(`grant all on ${database.name}.* to '${user}'@'%'`);
      await expect(connect(changed({ username: user, password: 'test' }))).rejects.toMatchObject({ kind: 'connection', message });
    } finally {
      await root(`drop user '${user}'@'%'`);
    }
  });

  it('AP-51: makes the marker table, only looks for --check, and says what is missing', async () => {
    await withMysql(database.adminUrl, (root) => root.query('drop table if exists svc_execution_marker'));
    const { url, readUrl } = database;
    const ready = {
      markerReady: true,
      markerProblem: null,
      readProblem: null,
      nameProblem: null,
      markerNote: expect.stringContaining('in database'),
    };
    expect(await connect(url, { readUrl, onlyLook: true })).toMatchObject({
      markerReady: false,
      markerProblem: 'the marker table does not exist; the agent makes it at its start',
    });
    expect(await tables()).toEqual([]);
    expect(await Promise.all([1, 2, 3, 4].map(() => connect(url, { readUrl })))).toEqual([ready, ready, ready, ready]);
    expect(await connect(url, { readUrl, onlyLook: true })).toEqual(ready);
    await withMysql(database.adminUrl, (root) => root.query('alter table svc_execution_marker engine=Aria'));
    expect((await connect(url, { readUrl })).markerProblem).toBe('the marker table is not of the engine InnoDB');
    await withMysql(database.adminUrl, (root) => root.query('drop table svc_execution_marker'));
    const refused = (await connect(readUrl, { readUrl })).markerProblem;
    expect(refused).toContain('(error 1142)');
    expect(refused).not.toContain(`${database.name}_r`);
    expect((await connect(changed({ pathname: '/' }), { readUrl })).markerProblem).toMatch(/names no database/);
  });

  it('AP-52: --check names the right that is missing to make the marker table, and makes nothing', async () => {
    await withMysql(database.adminUrl, (root) => root.query('drop table if exists svc_execution_marker'));
    const problemFor = async (...rights: string[]) => {
      const user = `${database.name}_c`;
      await withMysql(database.adminUrl, async (root) => {
        await root.query(`create or replace user '${user}'@'%' identified by 'test'`);
        for (const right of rights) await root.query(`grant ${right} on ${database.name}.* to '${user}'@'%'`);
      });
      try {
        return (await connect(changed({ username: user, password: 'test' }), { onlyLook: true })).markerProblem;
      } finally {
        await withMysql(database.adminUrl, (root) => root.query(`drop user '${user}'@'%'`));
      }
    };
    const lacks = (right: string) =>
      `the marker table does not exist, and the account lacks ${right} on database ${database.name}`;
    expect(await problemFor('select, insert, update, delete')).toBe(lacks('CREATE'));
    expect(await problemFor('create')).toBe(lacks('SELECT'));
    expect(await problemFor('select, insert, update, delete, create')).toBe(
      'the marker table does not exist; the agent makes it at its start',
    );
    expect(await tables()).toEqual([]);
  });

  it('AP-50: the printed statement makes the table that the agent takes', async () => {
    await withMysql(database.adminUrl, async (root) => {
      await root.query('drop table if exists svc_execution_marker');
      await root.query(mysqlMarkerDdl('svc_execution_marker'));
    });
    const { url, readUrl } = database;
    expect(await connect(url, { readUrl, onlyLook: true })).toMatchObject({ markerReady: true, markerProblem: null });
  });

  it('warns of an account of reads that may write', async () => {
    expect((await connect(database.url)).readProblem).toBe(
      'the account of reads may write (ALL PRIVILEGES); set read_url to one that can only SELECT',
    );
  });

  it('AP-01: an address of another kind, or with an unknown option, is a startup error that names the key', async () => {
    await expect(connect(database.url, { readUrl: 'postgres://u@h/d' })).rejects.toThrow(
      'read_url: is of another kind of database',
    );
    await expect(connect(`${database.url}?multipleStatements=true`)).rejects.toThrow(
      'databases.shop.staging.url: unknown option',
    );
  });
});
