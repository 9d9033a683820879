import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findMariadb } from '../../dev/mariadb/program.js';
import { startMariadb } from '../../dev/mariadb/server.js';
import { findMysql, withMysql } from '../support/mysql.js';
import { eventually, isAlive, runScript, temporaryFolder } from '../support/processes.js';

const server = await findMysql(import.meta.url);
const find = () => findMariadb({ signal: AbortSignal.timeout(60_000), report: () => {} });
const isOurs = process.env.SVC_TEST_MYSQL_URL === undefined;

describe.skipIf(server === null)('the MySQL or MariaDB of the tests (DV-12)', () => {
  it('gives each test file a database, an account that writes and one that only reads', async () => {
    const database = await server!.createDatabase();
    onTestFinished(database.drop);
    await withMysql(database.url, (connection) => connection.query('create table t select 7 as a'));
    const rows = await withMysql(database.readUrl, (connection) => connection.query('select a from t'));
    expect(rows[0]).toEqual([{ a: 7 }]);
    await expect(withMysql(database.readUrl, (connection) => connection.query('delete from t'))).rejects.toMatchObject({
      code: 'ER_TABLEACCESS_DENIED_ERROR',
    });
  });
});

describe.skipIf(server === null || !isOurs)('the launcher of MariaDB', () => {
  it('ends the server with its parent, however that goes (DV-6)', async () => {
    const parent = fileURLToPath(new URL('./fixtures/parent.ts', import.meta.url));
    const { process: killed, line } = await runScript(parent, ['mariadb', await temporaryFolder()]);
    const [pid, url] = line.split(' ') as [string, string];
    const version = await withMysql(url, (connection) => connection.query('select version() as version'));
    expect(version[0]).toEqual([{ version: expect.stringContaining('MariaDB') }]);
    if (process.getuid?.() === 0) expect(readFileSync(`/proc/${pid}/status`, 'utf8')).not.toMatch(/^Uid:\t0\t/m);
    killed.kill('SIGKILL');
    await eventually(() => !isAlive(Number(pid)));
  });

  it('says what the server said when it does not start', async () => {
    const folder = await temporaryFolder();
    const starting = startMariadb({ program: await find(), folder, settings: ['no-such-option'] });
    await expect(starting).rejects.toThrow(/MariaDB did not start.*no-such-option/s);
  });

  it('stops starting when it is told to', async () => {
    const controller = new AbortController();
    const starting = startMariadb({ program: await find(), folder: await temporaryFolder(), signal: controller.signal });
    controller.abort();
    await expect(starting).rejects.toThrow();
  });
});
