import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { clone } from '../../dev/layout.js';
import { noteLeftOut } from '../support/not-run.js';
import { type OwnPostgres, openOwnPostgres } from '../support/own-postgres.js';

const hasPsql = spawnSync('psql', ['--version']).status === 0;
if (!hasPsql) noteLeftOut(import.meta.url, 'psql is not installed');

// The second test goes on with the databases of the first.
describe.skipIf(!hasPsql)('the databases of docker-compose.yml', { shuffle: false }, () => {
  let cluster: OwnPostgres;
  let folder: string;
  beforeAll(async () => {
    cluster = await openOwnPostgres();
    folder = mkdtempSync(join(tmpdir(), 'svc-databases-'));
    // The program itself, but for one call, at which the container is killed.
    const real = spawnSync('sh', ['-c', 'command -v psql'], { encoding: 'utf8' }).stdout.trim();
    const psql = `#!/bin/sh\nprintf '%s ' "$@" | tr '\\n' ' ' >> "$CALLS"\necho >> "$CALLS"\n[ "$(wc -l < "$CALLS")" = "$KILLED_AT" ] && kill -9 $PPID\nexec ${real} "$@"\n`;
    writeFileSync(join(folder, 'psql'), psql);
    chmodSync(join(folder, 'psql'), 0o755);
  });
  afterAll(async () => {
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const passwords = { SVC_DATABASE: 's1', TEMPORAL_DATABASE: 't1', SHOP_WRITE: "w'1", SHOP_READ: 'r1' };
  function make(killedAt: number, given: Record<string, string> = passwords) {
    const { hostname, port, username, password } = new URL(cluster.url('postgres'));
    const calls = join(folder, 'calls');
    writeFileSync(calls, '');
    const environment = {
      PATH: `${folder}:${process.env.PATH}`,
      CALLS: calls,
      KILLED_AT: String(killedAt),
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: password,
      SHOP_SQL: join(clone, 'dev/shop.sql'),
      ...Object.fromEntries(Object.entries(given).map(([name, value]) => [`${name}_PASSWORD`, value])),
    };
    const file = join(clone, 'deploy/postgres/databases.sh');
    return spawnSync('sh', [file], { env: environment, encoding: 'utf8', timeout: 60_000 });
  }
  async function ask(user: string, password: string, database: string, text: string): Promise<unknown> {
    const url = Object.assign(new URL(cluster.url(database)), { username: user, password });
    const client = new pg.Client({ connectionString: url.href });
    try {
      await client.connect();
      return (await client.query(text)).rows;
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      await client.end();
    }
  }

  it('are all there once the script ran to its end, wherever it was killed before', async () => {
    // Four roles, four databases, a look and the shop.
    for (let at = 1; at <= 10; at += 1) expect([at, make(at).status]).not.toEqual([at, 0]);
    const { status, stderr } = make(0);
    expect([status, stderr]).toEqual([0, '']);
    const counted = [{ some: true }];
    for (const [user, password] of [
      ['shop_write', "w'1"],
      ['shop_read', 'r1'],
    ] as const)
      expect(await ask(user, password, 'shop', 'select count(*) > 0 as some from orders')).toEqual(counted);
    expect(await ask('shop_read', 'r1', 'shop', 'delete from orders')).toBe('42501');
    expect(await ask('svc', 's1', 'svc', 'create table own ()')).toEqual([]);
    expect(await ask('temporal', 't1', 'temporal_visibility', 'create table own ()')).toEqual([]);
    expect(await ask('svc', 's1', 'temporal', 'select 1')).toBe('42501');
  });

  it('get passwords that no list of processes shows, whatever characters they have', async () => {
    const given = {
      SVC_DATABASE: 'hidden $1',
      TEMPORAL_DATABASE: 'hidden "2"',
      SHOP_WRITE: "hidden'3\\",
      SHOP_READ: 'hidden :4',
    };
    onTestFinished(() => void make(0));
    expect(make(0, given)).toMatchObject({ status: 0, stderr: '' });
    const calls = readFileSync(join(folder, 'calls'), 'utf8');
    expect(calls).toContain('name=shop_read');
    expect(calls).not.toContain('hidden');
    const users = {
      svc: 'SVC_DATABASE',
      temporal: 'TEMPORAL_DATABASE',
      shop_write: 'SHOP_WRITE',
      shop_read: 'SHOP_READ',
    } as const;
    for (const [user, name] of Object.entries(users))
      expect(await ask(user, given[name], 'postgres', 'select 1')).toHaveLength(1);
  });

  it('stay as they are when it runs again, but for passwords', async () => {
    expect(await ask('shop_write', "w'1", 'shop', 'delete from orders where id > 1')).toEqual([]);
    expect(make(0, { ...passwords, SHOP_READ: 'r2' }).status).toBe(0);
    expect(await ask('shop_read', 'r1', 'shop', 'select 1')).toBe('28P01');
    expect(await ask('shop_read', 'r2', 'shop', 'select count(*)::int from orders')).toEqual([{ count: 1 }]);
  });

  it('leave the shop to those who change it: a table that is gone stays gone, and the next start does not fail of it', async () => {
    expect(await ask('shop_write', "w'1", 'shop', 'alter table orders rename to purchases')).toEqual([]);
    const { status, stderr } = make(0);
    expect([status, stderr]).toEqual([0, '']);
    expect(await ask('shop_read', 'r1', 'shop', 'select count(*)::int from purchases')).toEqual([{ count: 1 }]);
    expect(await ask('shop_read', 'r1', 'shop', 'select from orders')).toBe('42P01');
  });
});
