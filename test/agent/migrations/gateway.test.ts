import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CreationOver, type GatewayCalls, gatewayCalls } from '../../api/gateway-calls.js';
import { endActive, untilActive } from '../../support/active-statement.js';
import { startTestApi, type TestApi } from '../../support/api.js';
import { type ExchangeFaults, startExchangeFaults } from '../../support/exchange-faults.js';
import { appliedVersions, bundleOf, type MigrationFile, tableFiles } from '../../support/migration-bench.js';
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres.js';
import { eventually } from '../../support/processes.js';
import { startTestAgent, type TestAgent } from '../../support/test-agent.js';
import { databaseToml, passesToml } from '../../support/toml.js';

const launcher = new URL('../../../bin/svc-agent', import.meta.url).pathname;
let api: TestApi;
let calls: GatewayCalls;
let dana: string;
let databases: [TestDatabase, TestDatabase];
let target: pg.Client;
let other: pg.Client;
let faults: ExchangeFaults;
let agent: TestAgent | undefined;

beforeAll(async () => {
  const repeats = '[[execution_policies]]\nmax_executions = 3\nretry_on_failure = true\n';
  const toml = `${databaseToml('shop', ['staging', 'development'])}${passesToml()}${repeats}`;
  [api, ...databases] = await Promise.all([startTestApi({ toml }), createEmptyDatabase(), createEmptyDatabase()]);
  calls = gatewayCalls(api);
  dana = await api.createUser('dana', { roles: ['requester'] });
  [target, other] = databases.map(({ url }) => new pg.Client({ connectionString: url })) as [pg.Client, pg.Client];
  await Promise.all([target.connect(), other.connect()]);
  faults = await startExchangeFaults(databases[0].url);
});
/** Each test has an agent of its own, and finds both databases empty. */
afterEach(async () => {
  agent?.stop();
  await agent?.exit;
  agent = undefined;
  for (const client of [target, other])
    await client.query('drop schema public cascade; create schema public; drop schema if exists svc cascade');
});
afterAll(async () => {
  await api?.close();
  await Promise.all([target?.end(), other?.end(), faults?.proxy.close()]);
  await Promise.all((databases ?? []).map((one) => one.drop()));
});

/** Starts an agent for both pairs. */
async function startAgent(): Promise<void> {
  const tables = `[databases.shop.development]\nurl = "${databases[1].url}"`;
  agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: databases[0].url, tables });
  await untilReady();
}

/** Waits for a poll. */
async function untilReady() {
  const heard = async () =>
    (await api.services.database.query<{ at: number }>('select last_seen_at as at from agents'))[0]?.at ?? 0;
  const before = await heard();
  await eventually(async () => (await heard()) > before);
}

const create = (detail: string, over: CreationOver = {}) =>
  calls.created(dana, { environment: 'staging', operation: 'migrate_up', detail, ...over });
const statusOf = async (id: string) => (await calls.show(dana, id)).body.status as string;
const until = (id: string, status: RegExp) => expect.poll(() => statusOf(id), { timeout: 30_000 }).toMatch(status);
const contentOf = async (id: string) => JSON.parse((await calls.content(dana, id)).text).result_data;

describe('migrations behind a real gateway', () => {
  it('MI-35: an attempt whose agent was killed is resumed, and goes on after what is proven done', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-agent-lost-'));
    const file = join(directory, 'agent.toml');
    writeFileSync(
      file,
      `[server]\nurl = "${api.url}"\nagent_token = "${api.tokens.agent}"\n[probes]\ndir = "."\n[schema_sync]\nenabled = false\n[databases.shop.staging]\nurl = "${faults.url}"\n`,
    );
    const victim = spawn(process.execPath, [launcher, '--config', file], { stdio: 'ignore' });
    const exited = once(victim, 'exit');
    try {
      await untilReady();
      const files: MigrationFile[] = [
        { version: 'v1', up: 'create table t1 (id int)' },
        { version: 'v2', up: 'create table t2 (id int); select pg_sleep(30)' },
        { version: 'v3', up: 'create table t3 (id int)' },
      ];
      const id = await create(bundleOf('up', files, 2));
      await untilActive(target, 'pg_sleep(30)');
      victim.kill('SIGKILL');
      await exited;
      await calls.fireClock(id, 'lease');
      expect(await statusOf(id)).toBe('execution_lost');
      expect((await calls.act(dana, id, 'resume')).status).toBe(200);
      // The statement of the killed agent goes on in the database until the server notices that its client is gone; the next attempt waits for its lock.
      await endActive(target, 'terminate', 'pg_sleep(30)');
      await startAgent();
      await untilActive(target, 'pg_sleep(30)');
      await endActive(target, 'cancel', 'pg_sleep(30)');
      await until(id, /^failed$/);
      expect((await calls.show(dana, id)).body).toMatchObject({ status: 'failed' });
      expect(await contentOf(id)).toMatchObject({ applied_before_failure: ['v1'], failed_version: 'v2' });
      expect(await appliedVersions(target)).toEqual(['v1']);
    } finally {
      victim.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    }
  }, 90_000);

  it('MI-40, MI-43: up, status and down reach the requester, and the schema is what they made', async () => {
    await startAgent();
    const up = await create(bundleOf('up', tableFiles(2)));
    await until(up, /executed|failed/);
    expect(await contentOf(up)).toEqual({ applied: ['v1', 'v2'] });
    const tables = async () => (await api.call('GET', '/api/schemas/shop?environment=staging', { token: dana })).text;
    await expect.poll(tables, { timeout: 10_000 }).toContain('"t2"');
    const status = await create('', { operation: 'migrate_status' });
    await until(status, /executed|failed/);
    expect(await contentOf(status)).toEqual({ applied_versions: ['v1', 'v2'] });
    const down = await create(bundleOf('down', tableFiles(2), 1), { operation: 'migrate_down' });
    await until(down, /executed|failed/);
    expect(await contentOf(down)).toEqual({ reverted: ['v2'] });
  }, 60_000);

  it('MI-I6: a down that failed after a part of it is not resumed, and never reverts what it was not asked for', async () => {
    await startAgent();
    const files = tableFiles(4).map((file) => (file.version === 'v3' ? { ...file, down: 'drop table t3; select 1/0' } : file));
    await until(await create(bundleOf('up', files)), /executed|failed/);
    const down = await create(bundleOf('down', files, 2), { operation: 'migrate_down' });
    await until(down, /executed|failed/);
    expect(await contentOf(down)).toMatchObject({ reverted_before_failure: ['v4'], failed_version: 'v3' });
    expect((await calls.show(dana, down)).body).toMatchObject({ status: 'failed', resumable: false });
    expect(await calls.act(dana, down, 'resume')).toMatchObject({
      status: 409,
      body: { error: 'this request has run migrations already, and its max_count counts over all its attempts' },
    });
    const up = await create(bundleOf('up', files, 1));
    await until(up, /executed|failed/);
    expect((await calls.act(dana, up, 'resume')).status).toBe(409);
    expect(await appliedVersions(target)).toEqual(['v1', 'v2', 'v3', 'v4']);
  }, 60_000);

  it('C14, RQ-84: a file of which a part is applied and stays is not begun again by a resume', async () => {
    await startAgent();
    const half = `do $$ begin insert into t1 values (1); commit; raise exception 'no'; end $$`;
    const files: MigrationFile[] = [
      { version: 'v1', up: 'create table t1 (id int)' },
      { version: 'v2', up: half, transactional: false },
    ];
    const id = await create(bundleOf('up', files));
    await until(id, /executed|failed/);
    expect(await contentOf(id)).toMatchObject({ applied_before_failure: ['v1'], failed_version: 'v2' });
    const resumed = await calls.act(dana, id, 'resume');
    await until(id, /executed|failed/);
    expect((await target.query('select count(*)::int as rows from t1')).rows).toEqual([{ rows: 1 }]);
    expect(resumed).toMatchObject({ status: 409, body: { error: 'a part of this request is applied' } });
  }, 60_000);

  it('MI-34, MI-I9: a cancel of what runs is confirmed, and leaves nothing', async () => {
    await startAgent();
    const id = await create(bundleOf('up', [{ version: 'v8', up: 'create table t8 (id int); select pg_sleep(30)' }]));
    await untilActive(target, 'pg_sleep(30)');
    expect((await calls.act(dana, id, 'cancel')).status).toBe(200);
    await until(id, /^cancelled$/);
    expect(await appliedVersions(target)).toEqual([]);
    expect((await target.query("select to_regclass('t8')::text as name")).rows).toEqual([{ name: null }]);
  }, 60_000);

  it('MI-30, MI-50: of one pair migrations run one after another, of two pairs side by side', async () => {
    await startAgent();
    await target.query('select pg_advisory_lock(42)');
    const waits = (version: string) => bundleOf('up', [{ version, up: 'select pg_advisory_xact_lock(42)' }]);
    const first = await create(waits('w1'));
    await untilActive(target, 'pg_advisory_xact_lock(42)');
    const second = await create(waits('w2'));
    const elsewhere = await create(bundleOf('up', tableFiles(1)), { environment: 'development' });
    await until(elsewhere, /^executed$/);
    expect(await statusOf(first)).toBe('running');
    expect((await calls.show(dana, second)).body).toMatchObject({ status: 'dispatched', queue_hint: 'migration_queued' });
    await target.query('select pg_advisory_unlock(42)');
    await until(first, /^executed$/);
    await until(second, /^executed$/);
    expect(await contentOf(second)).toEqual({ applied: ['w2'] });
    expect(await appliedVersions(other)).toEqual(['v1']);
  }, 60_000);

  it('MI-I7, MI-18: a bundle of any characters and any layout runs as its very bytes', async () => {
    await startAgent();
    const sql = 'create table "t\\u0041é😀" (a text default \'\\u2028\\u003c ☃\')';
    const detail = ` {"versions" : ["z.odd"],\n"extra":{"b":[1,-9223372036854775808,true,null,"\\ud83d\\ude00"],"a":{}},
      "migrations":[{"version":"z.odd","sql":"${sql.replaceAll('"', '\\"')} -- \\t\\u00fc","note":"é"}],"max_count":null,"dir_sha256":"","direction":"up","format":"v2"}\n`;
    const id = await create(detail);
    await until(id, /executed|failed/);
    expect(await contentOf(id)).toEqual({ applied: ['z.odd'] });
    const { rows } = await target.query(
      'select pg_get_expr(adbin, adrelid) as text from pg_attrdef where adrelid = \'"tAé😀"\'::regclass',
    );
    expect(rows).toEqual([{ text: "'\u2028< ☃'::text" }]);
  }, 60_000);
});
