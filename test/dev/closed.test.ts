import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { prepareGatewayDatabase, prepareShop } from '../../dev/databases.js';
import { lockFolder, removeCluster, removeLeftCluster } from '../../dev/folder-lock.js';
import { clone, layoutOf } from '../../dev/layout.js';
import { loadPasswords, type Passwords } from '../../dev/passwords.js';
import { type PostgresServer, startPostgres } from '../../dev/postgres.js';
import { possibleDataDirs } from '../../dev/postgres-programs.js';
import { makePrivateFolder } from '../../runtime/private-files.js';
import { temporaryFolder } from '../support/processes.js';

const isRoot = process.getuid?.() === 0;
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('the folder of a development gateway (HD-91)', () => {
  it('is for its owner alone, with everything in it, also one of an earlier version', async () => {
    const data = join(await temporaryFolder(), '.svc');
    const layout = layoutOf(data);
    for (const folder of [layout.state, layout.run, layout.tokens]) {
      mkdirSync(folder, { recursive: true });
      chmodSync(folder, 0o755);
    }
    chmodSync(data, 0o755);
    lockFolder(layout)();
    for (const folder of [data, layout.state, layout.run, layout.tokens])
      expect([folder, modeOf(folder)]).toEqual([folder, 0o700]);
  });

  it('closes the .svc beside a given server.toml too', async () => {
    const parent = join(await temporaryFolder(), '.svc');
    mkdirSync(parent, { mode: 0o755 });
    const layout = layoutOf(join(parent, 'for-mine'));
    lockFolder(layout)();
    expect([modeOf(parent), modeOf(layout.data)]).toEqual([0o700, 0o700]);
  });

  it('is never one that everybody shares', async () => {
    const shared = await temporaryFolder();
    chmodSync(shared, 0o1777);
    expect(() => lockFolder(layoutOf(shared))).toThrow(/is shared by everybody/);
    expect(modeOf(shared)).toBe(0o777);
  });

  it('holds a state_dir that the server closes as well, unless it belongs to another', async () => {
    const folder = await temporaryFolder();
    const own = join(folder, 'state');
    mkdirSync(own);
    chmodSync(own, 0o755);
    await makePrivateFolder(own);
    expect(modeOf(own)).toBe(0o700);
    chmodSync(own, 0o1777);
    await makePrivateFolder(own);
    expect(modeOf(own)).toBe(0o777);
  });

  it.runIf(isRoot)(
    'keeps the rows of a cluster that lay where its user can no longer enter (DV-4)',
    { timeout: 120_000 },
    async () => {
      const data = join(await temporaryFolder(), '.svc');
      const layout = layoutOf(data);
      mkdirSync(layout.run, { recursive: true });
      chmodSync(dirname(data), 0o755);
      chmodSync(data, 0o755);
      onTestFinished(() => removeCluster(layout));
      const lines: string[] = [];
      const start = () =>
        startPostgres({
          clone,
          dataDir: layout.postgres,
          password: 'test',
          logFile: join(layout.run, 'log'),
          durable: false,
          report: (line) => lines.push(line),
        });
      const before = await start();
      await run(before.url('postgres'), 'create table kept as select 7 as number');
      await before.stop();
      expect(existsSync(join(layout.postgres, 'PG_VERSION'))).toBe(true);
      lockFolder(layout)();
      const after = await start();
      expect(await run(after.url('postgres'), 'select number from kept')).toEqual([{ number: 7 }]);
      await after.stop();
      const elsewhere = possibleDataDirs(clone, layout.postgres)[1]!;
      expect([existsSync(layout.postgres), modeOf(elsewhere), modeOf(data)]).toEqual([false, 0o700, 0o700]);
      expect(lines.join('\n')).toContain(`its data were moved there from ${layout.postgres}`);
      removeCluster(layout);
      expect(existsSync(dirname(elsewhere))).toBe(false);
    },
  );

  it.runIf(isRoot)('that was removed takes its cluster elsewhere with it at the next start (DV-4)', async () => {
    const layout = layoutOf(join(await temporaryFolder(), '.svc'));
    const elsewhere = possibleDataDirs(clone, layout.postgres)[1]!;
    onTestFinished(() => removeCluster(layout));
    lockFolder(layout)();
    expect(removeLeftCluster(layout)).toBe(null);
    mkdirSync(elsewhere, { recursive: true });
    writeFileSync(join(elsewhere, 'PG_VERSION'), '18\n');
    loadPasswords(layout.passwords);
    expect(removeLeftCluster(layout)).toBe(null);
    rmSync(layout.passwords);
    mkdirSync(layout.state);
    expect(removeLeftCluster(layout)).toBe(null);
    rmSync(layout.state, { recursive: true });
    const server = spawn('sleep', ['60'], { cwd: elsewhere });
    writeFileSync(join(elsewhere, 'postmaster.pid'), `${server.pid}\n`);
    expect(removeLeftCluster(layout)).toBe(null);
    server.kill();
    await once(server, 'exit');
    expect(removeLeftCluster(layout)).toBe(elsewhere);
    expect(existsSync(elsewhere)).toBe(false);
    // A removal that was cut short.
    mkdirSync(elsewhere, { recursive: true });
    writeFileSync(join(elsewhere, 'base'), '');
    expect(removeLeftCluster(layout)).toBe(elsewhere);
    expect(existsSync(elsewhere)).toBe(false);
  });
});

describe('roles of the demo (HD-91)', () => {
  let server: PostgresServer;
  let passwords: Passwords;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-roles-'));
    chmodSync(folder, 0o755);
    passwords = loadPasswords(join(folder, 'passwords.json'));
    server = await startPostgres({
      clone: folder,
      dataDir: join(folder, 'postgres'),
      password: passwords.postgres,
      logFile: join(folder, 'log'),
      durable: false,
    });
    await prepareAll();
  }, 120_000);
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const prepareAll = async () => {
    await prepareGatewayDatabase(server, passwords);
    await prepareShop(server, passwords);
  };
  const roles = () => [
    { role: 'svc', password: passwords.svc, own: 'svc' },
    ...(['staging', 'production'] as const).flatMap((environment) =>
      (['rw', 'ro'] as const).map((kind) => ({
        role: `shop_${environment}_${kind}`,
        password: passwords.shop[environment][kind],
        own: `shop_${environment}`,
      })),
    ),
  ];

  it('connect to their own database and to no other, template and maintenance ones included', async () => {
    for (const { role, password, own } of roles())
      for (const database of ['svc', 'shop_staging', 'shop_production', 'postgres', 'template1']) {
        const answer = await run(server.url(database, role, password), 'select 1').then(
          () => 'connected',
          (error: { code?: string }) => error.code,
        );
        expect([role, database, answer]).toEqual([role, database, database === own ? 'connected' : '42501']);
      }
  });

  it('have a password each, and none of another opens the door', async () => {
    const all = roles();
    expect(new Set([...all.map(({ password }) => password), passwords.postgres]).size).toBe(all.length + 1);
    for (const { role, own } of all)
      for (const password of ['', 'postgres', role, ...all.filter((one) => one.role !== role).map((one) => one.password)])
        await expect(run(server.url(own, role, password), 'select 1'), role).rejects.toThrow(/password/);
  });

  it('are asked for it by every line of pg_hba.conf', async () => {
    const rules = await run(server.url('postgres'), 'select distinct auth_method from pg_hba_file_rules');
    expect(rules).toEqual([{ auth_method: 'scram-sha-256' }]);
  });

  it('write or only read', async () => {
    const { staging } = passwords.shop;
    const ro = server.url('shop_staging', 'shop_staging_ro', staging.ro);
    expect(await run(ro, 'select count(*)::int as n from orders')).toEqual([{ n: 4000 }]);
    await expect(run(ro, 'delete from orders')).rejects.toThrow(/permission denied/);
    const rw = server.url('shop_staging', 'shop_staging_rw', staging.rw);
    await run(rw, 'create table later as select 1 as n');
    expect(await run(ro, 'select n from later')).toEqual([{ n: 1 }]);
  });

  it('replace those of an earlier version, whose rows and rights stay', async () => {
    await asEarlierVersion(server);
    await prepareAll();
    await prepareAll();
    expect(await run(server.url('postgres'), `select rolname from pg_roles where rolname in ('shop_rw', 'shop_ro')`)).toEqual([]);
    const { production } = passwords.shop;
    const ro = server.url('shop_production', 'shop_production_ro', production.ro);
    expect(await run(ro, 'select n from own.old')).toEqual([{ n: 5 }]);
    const rw = server.url('shop_production', 'shop_production_rw', production.rw);
    await run(rw, 'alter table own.old add column more text; insert into own.old (n) values (6)');
    await run(rw, 'create table newer as select 2 as n');
    expect(await run(ro, 'select n from newer')).toEqual([{ n: 2 }]);
    await expect(run(ro, 'select * from own.secret')).rejects.toThrow(/permission denied/);
  });

  it('get passwords where the file of an earlier version has none for them', async () => {
    const file = join(await temporaryFolder(), 'passwords.json');
    writeFileSync(file, JSON.stringify({ postgres: 'p', svc: 's', shop_rw: 'x', shop_ro: 'y' }), { mode: 0o600 });
    const made = loadPasswords(file);
    expect(made).toMatchObject({ postgres: 'p', svc: 's' });
    expect(loadPasswords(file)).toEqual(made);
    expect(readFileSync(file, 'utf8')).not.toContain('shop_rw');
    expect(modeOf(file)).toBe(0o600);
  });
});

/** Both environments owned by one role and readable by another, as they were. */
async function asEarlierVersion(server: PostgresServer): Promise<void> {
  await run(server.url('postgres'), `create role shop_rw login password 'x'; create role shop_ro login password 'y'`);
  for (const name of ['shop_staging', 'shop_production']) {
    await run(server.url('postgres'), `alter database ${name} owner to shop_rw`);
    await run(server.url('postgres'), `grant connect on database ${name} to shop_ro`);
    await run(server.url(name), `reassign owned by ${name}_rw to shop_rw`);
  }
  const url = server.url('shop_production', 'shop_rw', 'x');
  await run(url, 'create schema own; create table own.old as select 5 as n; create table own.secret as select 1 as n');
  await run(url, 'grant usage on schema own to shop_ro; grant select on own.old to shop_ro');
  await run(url, 'alter default privileges grant select on tables to shop_ro');
}

async function run(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(statement)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}
