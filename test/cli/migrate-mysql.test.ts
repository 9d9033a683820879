import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { findMysql, type MysqlDatabase, withMysql } from '../support/mysql.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, passesToml } from '../support/toml.js';
import { runSvc } from './run-svc.js';

vi.setConfig({ testTimeout: 60_000 });
const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('svc migrate on MySQL', () => {
  let api: TestApi;
  let database: MysqlDatabase;
  let agent: TestAgent;
  let directory: string;
  beforeAll(async () => {
    const toml = [databaseToml('shop', ['staging'], 'mysql'), passesToml()].join('');
    [api, database] = await Promise.all([startTestApi({ toml }), server!.createDatabase()]);
    const operations = ['migrate_up', 'migrate_down', 'migrate_status', 'migrate_repair'];
    const head = `operations = ${JSON.stringify(operations)}`;
    agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: database.url, head });
    directory = mkdtempSync(join(tmpdir(), 'svc-migrate-'));
    mkdirSync(join(directory, 'migrations'));
  });
  afterAll(async () => {
    agent?.stop();
    await agent?.exit;
    await api?.close();
    await database?.drop();
    if (directory) rmSync(directory, { recursive: true, force: true });
  });

  const svc = (...argv: string[]) =>
    runSvc(['migrate', ...argv], {
      directory,
      environment: {
        SVC_SERVER_URL: api.url,
        SVC_TOKEN: api.tokens.admin,
        SVC_DATABASE: 'shop',
        SVC_ENV: 'staging',
        SVC_YES: '1',
      },
    });
  const write = (name: string, text: string) => writeFileSync(join(directory, 'migrations', name), text);
  const sql = (text: string) => withMysql(database.adminUrl, async (root) => (await root.query(text))[0]);

  it('MI-39, RS-13, MI-33, MI-I4: a file that fails half-way tells what stays; set right by hand and repaired, up goes on after it, and down reverts the latest', async () => {
    write('1_users.sql', '-- migrate:up\ncreate table users (id int);\n-- migrate:down\ndrop table users;\n');
    expect(await svc('up')).toMatchObject({ code: 0, stdout: expect.stringContaining('(1 applied)') });
    const parts = ['create table two (id int)', 'alter table nowhere add c int', 'create table three (id int)'];
    write('2_parts.sql', `-- migrate:up\n${parts.join(';\n')};\n-- migrate:down\ndrop table three;\n`);
    const half = await svc('up');
    expect(half.code).toBe(3);
    expect(half.stdout).toMatch(/^2 +parts +up +failed\n\(0 applied\)\n$/m);
    expect(half.stderr).toMatch(
      /error: migrate up: version 2: .*nowhere' doesn't exist .*; statement 2 of 3 failed; the first 1 are applied and stay\n/,
    );
    expect(half.stderr).toContain('hint: this request applied none before it; of 2 nothing stays but what the error names\n');
    // Run again it meets what stays, and changes nothing.
    const again = await svc('up');
    expect([again.code, again.stdout]).toEqual([3, '']);
    expect(again.stderr).toMatch(/Table 'two' already exists .*\nhint: nothing was changed\n/);

    await sql('create table three (id int)');
    const fix = ['--action', 'mark-applied', '--version', '2', '--emergency', '--reason', 'done by hand'];
    expect(await svc('repair', ...fix)).toMatchObject({ code: 0, stdout: expect.stringContaining('2 is marked as applied') });
    write('3_rows.sql', '-- migrate:up\ninsert into two values (1);\n-- migrate:down\ndelete from two;\n');
    expect(await svc('up')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^3 +rows +up +applied\n\(1 applied\)\n$/m) });
    const { data } = JSON.parse((await svc('status', '--json')).stdout);
    expect(data.migrations.map(({ version, status }: Record<string, string>) => `${version} ${status}`)).toEqual([
      ...['1 applied', '2 applied', '3 applied'],
    ]);
    expect(await sql('select id from two')).toEqual([{ id: 1 }]);

    // Down reverts the latest.
    expect((await svc('down', '--count', '2')).stdout).toMatch(
      /^3 +rows +down +reverted\n2 +parts +down +reverted\n\(2 reverted\)\n$/m,
    );
    expect(await sql('select version from schema_migrations')).toEqual([{ version: '1' }]);
    expect(await sql('select id from two')).toEqual([]);
  });
});
