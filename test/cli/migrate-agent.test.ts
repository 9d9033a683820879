import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { lockWaits } from '../support/active-statement.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';
import { runSvc, type SvcResult } from './run-svc.js';

vi.setConfig({ testTimeout: 60_000 });

/** A real gateway, a real agent and a real PostgreSQL; people and their commands as they are. */
let api: TestApi;
let target: TestDatabase;
let agent: TestAgent;
let database: pg.Client;
let tokens: Record<'alice' | 'bob' | 'admin', string>;
beforeAll(async () => {
  const toml = [databaseToml('shop', ['staging']), dbaTeamToml, needsDbaToml('staging')].join('');
  [api, target] = await Promise.all([startTestApi({ toml }), createEmptyDatabase()]);
  const alice = await api.createUser('alice', { roles: ['requester'] });
  const bob = await api.createUser('bob', { roles: ['requester'], groups: ['dba-team'] });
  tokens = { alice, bob, admin: api.tokens.admin };
  const operations = ['execute_select', 'migrate_up', 'migrate_down', 'migrate_status', 'migrate_repair'];
  const head = `operations = ${JSON.stringify(operations)}`;
  agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url, head });
  database = new pg.Client({ connectionString: target.url });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  agent.stop();
  expect(await agent.exit).toBe(0);
  await api.close();
  await target.drop();
});

let directory: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-migrate-'));
  mkdirSync(join(directory, 'migrations'));
  const { rows } = await database.query(`select tablename from pg_tables where tablename ~ '^(t\\d|schema_migrations)'`);
  for (const { tablename } of rows) await database.query(`drop table ${tablename}`);
  // As if what other tests reverted lay before every snapshot (MI-45).
  await api.services.database.query(
    `update requests set updated_at = updated_at - interval '10 minutes' where operation in ('migrate_down', 'migrate_repair')`,
  );
});

const svc = (user: keyof typeof tokens, ...argv: string[]) => svcWatched(user, argv);
const svcWatched = (user: keyof typeof tokens, argv: string[], watch?: (stderr: () => string) => void) =>
  runSvc(argv, {
    started: ({ stderr }) => watch?.(stderr),
    directory,
    environment: { SVC_SERVER_URL: api.url, SVC_TOKEN: tokens[user], SVC_DATABASE: 'shop', SVC_ENV: 'staging', SVC_YES: '1' },
  });

const write = (name: string, text: string) => writeFileSync(join(directory, 'migrations', name), text);
const table = (name: string) => `-- migrate:up\ncreate table ${name} (id int);\n-- migrate:down\ndrop table ${name};\n`;
const tables = async () =>
  (await database.query(`select relname from pg_class where relkind = 'r' and relname ~ '^t\\d' order by 1`)).rows.map(
    ({ relname }) => relname,
  );
const versions = async () =>
  (await database.query('select version from schema_migrations order by 1')).rows.map(({ version }) => version);

/**
 * Asks, has bob approve, and resumes: what the resume answered; a function at the end of the words is given its stderr as it grows. Without a preflight:
 * the tests empty the database behind the gateway's back.
 */
async function approved(...words: (string | ((stderr: () => string) => void))[]): Promise<SvcResult> {
  const argv = words.filter((word) => typeof word === 'string');
  const watch = words.find((word) => typeof word === 'function');
  const asked = await svc('alice', ...argv, '--no-preflight', '--json');
  expect(asked.code).toBe(2);
  const { data, error } = JSON.parse(asked.stdout);
  expect(error.code).toBe('pending_approval');
  expect(data.approvers).toEqual(['group:dba-team']);
  expect(await svc('bob', 'request', 'approve', data.request_id)).toMatchObject({ code: 0 });
  return svcWatched('alice', ['request', 'resume', data.request_id], watch);
}

/** What the status says of each version; it waits for approval like everything on this pair, so an administrator breaks the glass. */
async function status(): Promise<string[]> {
  const { code, stdout } = await svc('admin', 'migrate', 'status', '--emergency', '--reason', 'test', '--json');
  expect(code).toBe(0);
  const { data } = JSON.parse(stdout);
  return data.migrations.map((line: { version: string; status: string }) => `${line.version} ${line.status}`);
}

it('create, up with approval, status, again, down (MI-I2, MI-I3, MI-I4)', async () => {
  expect((await svc('alice', 'migrate', 'create', 'First table')).code).toBe(0);
  const [file] = readdirSync(join(directory, 'migrations'));
  const version = file!.split('_')[0]!;
  write(file!, table('t1'));
  write('99999999999999_second.sql', table('t2'));
  expect(await status()).toEqual([`${version} pending`, '99999999999999 pending']);
  const up = await approved('migrate', 'up');
  expect(up).toMatchObject({ code: 0, stdout: expect.stringMatching(/ up {9}applied\n.* up {9}applied\n\(2 applied\)\n$/) });
  expect([await tables(), await versions()]).toEqual([
    ['t1', 't2'],
    [version, '99999999999999'],
  ]);
  expect(await status()).toEqual([`${version} applied`, '99999999999999 applied']);
  expect(await approved('migrate', 'up')).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing to do') });
  // Once the agent has synced, without a request (MI-45, MI-52).
  await eventually(async () => {
    const { code, stdout } = await svc('alice', 'migrate', 'up', '--json');
    return code === 0 && JSON.parse(stdout).data.nothing_to_do === true && JSON.parse(stdout).data.migrations === 2;
  });
  expect(await approved('migrate', 'down')).toMatchObject({ code: 0, stdout: expect.stringContaining('(1 reverted)') });
  expect([await tables(), await versions()]).toEqual([['t1'], [version]]);
});

it('the third of five fails: two stay, nothing of it remains, and a corrected file goes on after them (section 6)', async () => {
  for (const n of [1, 2, 4, 5]) write(`${n}_t.sql`, table(`t${n}`));
  write('3_t.sql', '-- migrate:up\ncreate table t3 (id int);\ninsert into nowhere values (1);\n');
  const failed = await approved('migrate', 'up');
  expect(failed.code).toBe(3);
  expect(failed.stdout).toBe(
    'VERSION  DIRECTION  OUTCOME\n-------  ---------  -------\n1        up         applied\n2        up         applied\n3        up         failed\n(2 applied)\n',
  );
  expect(failed.stderr).toContain('relation "nowhere" does not exist');
  expect(failed.stderr).toContain('2 were applied and stay so; of 3 nothing stays but what the error names');
  expect([await tables(), await versions()]).toEqual([
    ['t1', 't2'],
    ['1', '2'],
  ]);
  write('3_t.sql', table('t3'));
  expect(await approved('migrate', 'up')).toMatchObject({ code: 0, stdout: expect.stringContaining('(3 applied)') });
  expect(await versions()).toEqual(['1', '2', '3', '4', '5']);
});

it('the first one fails: exit 3, nothing was changed (section 6)', async () => {
  write('1_t.sql', '-- migrate:up\ncreate table t1 (id int);\nselect 1 / 0;\n');
  const failed = await approved('migrate', 'up');
  expect(failed).toMatchObject({ code: 3, stdout: '' });
  expect(failed.stderr).toContain('division by zero');
  expect(failed.stderr).toContain('hint: nothing was changed');
  expect(await tables()).toEqual([]);
});

it('an index that fails outside a transaction: the error names what it left, and the hint does not deny that (MI-38)', async () => {
  write('1_t.sql', '-- migrate:up\ncreate table t1 as select 7 as id from generate_series(1, 2);\n');
  await approved('migrate', 'up');
  write('2_i.sql', '-- migrate:up transaction:false\ncreate unique index concurrently t1_id on t1 (id);\n');
  const failed = await approved('migrate', 'up');
  expect(failed.code).toBe(3);
  expect(failed.stderr).toContain(
    'an invalid index was left behind: t1_id\nhint: nothing was changed but what the error names\n',
  );
});

it('an older file comes later: out of order before, applied out of order after (MI-32, MI-51)', async () => {
  write('5_t.sql', table('t5'));
  await approved('migrate', 'up');
  write('3_t.sql', table('t3'));
  expect(await status()).toEqual(['3 out of order', '5 applied']);
  expect((await approved('migrate', 'up')).stdout).toMatch(/^3 .* applied out of order$/m);
});

it('runs a file without a transaction, at most --count, and only files after --after (MI-10, MI-38)', async () => {
  write('1_t.sql', table('t1'));
  write(
    '2_i.sql',
    '-- migrate:up transaction:false\ncreate index concurrently i on t1 (id);\n-- migrate:down transaction:false\ndrop index concurrently i;\n',
  );
  write('3_t.sql', table('t3'));
  expect((await approved('migrate', 'up', '--count', '2')).stdout).toContain('(2 applied)');
  expect(await versions()).toEqual(['1', '2']);
  expect((await approved('migrate', 'up', '--after', '2')).stdout).toContain('(1 applied)');
  expect((await approved('migrate', 'down', '--count', '3')).stdout).toMatch(/^3 .*\n2 .*\n1 .*\n\(3 reverted\)\n$/m);
  expect([await tables(), await versions()]).toEqual([[], []]);
});

it('reverts nothing when one of the latest has no down part (MI-33, MI-I4)', async () => {
  write('1_t.sql', table('t1'));
  write('2_t.sql', '-- migrate:up\ncreate table t2 (id int);\n');
  await approved('migrate', 'up');
  const failed = await approved('migrate', 'down');
  expect(failed.code).toBe(3);
  expect(failed.stderr).toContain('cannot revert 2: no down part in the request');
  expect(failed.stderr).toContain('hint: nothing was changed');
  expect(await versions()).toEqual(['1', '2']);
});

it('repairs the list of applied versions, and tells what was so already (MI-42)', async () => {
  write('1_t.sql', table('t1'));
  const repair = (action: string) =>
    svc('admin', 'migrate', 'repair', '--action', action, '--version', '1', '--emergency', '--reason', 'by hand');
  expect(await repair('mark-applied')).toMatchObject({
    code: 0,
    stdout: '1 is marked as applied; the schema was not touched.\n',
  });
  expect(await repair('mark-applied')).toMatchObject({ code: 0, stdout: '1 was marked as applied already; nothing changed.\n' });
  expect([await tables(), await versions()]).toEqual([[], ['1']]);
  rmSync(join(directory, 'migrations', '1_t.sql'));
  expect(await status()).toEqual(['1 missing file']);
  expect(await repair('remove')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('1 is removed from the applied ones'),
  });
  expect(await versions()).toEqual([]);
  // Not everybody may break the glass.
  expect(
    await svc('alice', 'migrate', 'repair', '--action', 'remove', '--version', '1', '--emergency', '--reason', 'r'),
  ).toMatchObject({ code: 1, stderr: expect.stringContaining('error: migrate repair: ') });
});

it('tells that it waits for another migration, and runs after it (MI-30, CL-25)', async () => {
  write('1_t.sql', '-- migrate:up\ncreate table t1 (id int);\nselect pg_advisory_xact_lock(42);\n');
  await database.query('select pg_advisory_lock(42)');
  const first = approved('migrate', 'up');
  await eventually(async () => (await database.query(lockWaits)).rows.length === 1, 30_000);
  write('2_t.sql', table('t2'));
  let told = () => '';
  const second = approved('migrate', 'up', (stderr) => {
    told = stderr;
  });
  await expect.poll(() => told(), { timeout: 30_000 }).toContain('dispatched: waiting for another migration');
  await database.query('select pg_advisory_unlock(42)');
  expect(await first).toMatchObject({ code: 0, stdout: expect.stringContaining('(1 applied)') });
  expect(await second).toMatchObject({ code: 0, stdout: expect.stringContaining('(1 applied)') });
  expect(await versions()).toEqual(['1', '2']);
});

it('takes over a database that dbmate has migrated (MI-20)', async () => {
  await database.query(
    `create table schema_migrations (version varchar(255) primary key); insert into schema_migrations values ('1')`,
  );
  write('1_t.sql', table('t1'));
  write('2_t.sql', table('t2'));
  expect(await status()).toEqual(['1 applied', '2 pending']);
  expect((await approved('migrate', 'up')).stdout).toContain('(1 applied)');
  expect([await tables(), await versions()]).toEqual([['t2'], ['1', '2']]);
});

it('passes on what the server finds wrong with a file, and nothing runs (MI-16)', async () => {
  write('1_t.sql', '-- migrate:up\ncreate tabel t1 (id int);\n');
  const refused = await svc('alice', 'migrate', 'up');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('1_t.sql');
  expect(await tables()).toEqual([]);
});
