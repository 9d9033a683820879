import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { bundleOf } from '../support/migration-bench.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

let server: Awaited<ReturnType<typeof openOwnPostgres>>;
let root: pg.Client;
let gateway: FakeGateway;
let agent: TestAgent;

beforeAll(async () => {
  server = await openOwnPostgres();
  const first = new pg.Client({ connectionString: server.url('postgres') });
  await first.connect();
  await first.query(`create role keeper login password 'test'`);
  await first.query('create role other');
  await first.query('create database shop owner keeper');
  await first.end();
  root = new pg.Client({ connectionString: server.url('shop') });
  await root.connect();
  await root.query(`
    grant other to keeper;
    grant alter system on parameter session_replication_role to keeper;
    grant execute on function pg_reload_conf() to keeper;
    create table seen (pid int, who text, settings text);
    insert into seen default values;
    grant all on seen to keeper, other;
  `);
}, 120_000);
beforeEach(async () => {
  gateway = await startFakeGateway();
});
afterEach(async () => {
  await stopAgent();
  await gateway.close();
  await root.query('alter role keeper reset all');
  await root.query('alter database shop reset all');
  await root.query('drop table if exists schema_migrations');
});
afterAll(async () => {
  await root?.end();
  await server?.close();
});

/** An agent that keeps one connection for its writes. */
async function start(user: 'keeper' | 'superuser'): Promise<void> {
  const url = new URL(server.url('shop'));
  if (user === 'keeper') Object.assign(url, { username: 'keeper', password: 'test' });
  const head = 'operations = ["execute_dml", "migrate_up"]';
  agent = startTestAgent({ gateway, url: url.href, head, tables: 'pool_max = 1\n[schema_sync]\nenabled = false' });
  await gateway.nextPoll();
}

async function stopAgent(): Promise<void> {
  agent.stop();
  await agent.exit;
}

const names = ['search_path', 'standard_conforming_strings', 'transform_null_equals', 'DateStyle', 'session_replication_role'];
const fixed = '"$user", public|on|off|ISO, MDY|origin';
const look = names.map((name) => `current_setting('${name}')`).join(`, '|', `);

const write = (detail: string) => gateway.offer({ operation: 'execute_dml', detail }).result;
/** The session that a job has, as the job itself sees it. */
async function seen(): Promise<{ pid: number; who: string; settings: string }> {
  const report = await write(`update public.seen set pid = pg_backend_pid(), who = current_user, settings = concat(${look})`);
  expect(report).toMatchObject({ outcome: 'committed' });
  return (await root.query('select * from seen')).rows[0];
}

let versions = 0;
/** Runs an approved migration; one outside a transaction is one statement. */
async function migrate(up: string, transactional = true): Promise<void> {
  versions += 1;
  const detail = bundleOf('up', [{ version: `v${versions}`, up, transactional }]);
  expect(await gateway.offer({ operation: 'migrate_up', detail }).result).toMatchObject({ outcome: 'committed' });
}

describe('a connection that is kept after a job (HD-30)', () => {
  it.each([
    ['SET without LOCAL', `set search_path = hidden, public; set datestyle = 'SQL, DMY'; set transform_null_equals = on`],
    [
      'set_config for the session',
      `do $$ begin perform set_config(name, value, false) from (values ('standard_conforming_strings', 'off'),
         ('search_path', 'pg_temp'), ('transform_null_equals', 'on'), ('client_encoding', 'LATIN1')) s (name, value); end $$`,
    ],
    [
      'ALTER ROLE and ALTER DATABASE … SET',
      `alter role current_user set search_path = hidden; alter role current_user set standard_conforming_strings = off;
       alter database shop set transform_null_equals = on; alter database shop set datestyle = 'SQL, DMY'`,
    ],
  ])('has its settings for the next job after a migration that did %s, as has a new one', async (_, text) => {
    await start('keeper');
    const before = await seen();
    await migrate(text);
    const after = await seen();
    expect(after).toEqual({ ...before, who: 'keeper', settings: fixed });
    await root.query('select pg_terminate_backend($1, 5000)', [after.pid]);
    await write('select 1');
    const renewed = await seen();
    expect(renewed).toEqual({ pid: expect.any(Number), who: 'keeper', settings: fixed });
    expect(renewed.pid).not.toBe(after.pid);
  });

  it('keeps the role that it began with, within a text and for the next one', async () => {
    await root.query(
      `create or replace function act_as(text) returns int language sql as $$ select 1 from set_config('role', $1, false) $$`,
    );
    await start('keeper');
    const before = await seen();
    const as = async (role: string) => {
      const report = await write(`update public.seen set pid = act_as('${role}'); update public.seen set who = current_user`);
      expect(report).toMatchObject({ outcome: 'committed' });
      return (await root.query('select who from seen')).rows[0].who;
    };
    expect(await as('other')).toBe('keeper');
    expect(await seen()).toEqual(before);
    await stopAgent();
    await root.query('alter role keeper set role = other');
    await root.query('grant all on schema svc to other; grant all on svc.svc_execution_marker to other');
    await start('keeper');
    const own = await seen();
    expect(own.who).toBe('other');
    expect(await as('none')).toBe('other');
    expect(await seen()).toEqual(own);
  });

  it('is closed where a setting stays different, and the next one of a superuser sets it back', async () => {
    await start('superuser');
    const { pid } = await seen();
    await migrate(`alter system set session_replication_role = 'replica'`, false);
    await migrate('select pg_reload_conf()');
    try {
      // The change reaches the sessions of the server a moment later.
      const next = await eventually(async () => {
        const found = await seen();
        return found.pid === pid ? null : found;
      });
      expect(next.settings).toBe(fixed);
      expect(await seen()).toEqual(next);
    } finally {
      await root.query('alter system reset session_replication_role');
      await root.query('select pg_reload_conf()');
    }
  });

  it('is closed, and the pair out of service until somebody has put right what its role cannot', async () => {
    await start('keeper');
    const { pid } = await seen();
    await migrate(`alter system set session_replication_role = 'replica'`, false);
    await migrate('select pg_reload_conf()');
    const why = `the setting session_replication_role is 'replica' instead of 'origin': only a superuser can set it back`;
    const logged = (text: string) => agent.lines.some((line) => line.includes(text));
    try {
      const refused = await eventually(async () => {
        const report = await write('select 1');
        return report.success ? null : report;
      });
      expect(refused).toMatchObject({ outcome: 'not_started', error_message: expect.stringContaining(why) });
      expect((await root.query('select 1 from pg_stat_activity where pid = $1', [pid])).rows).toEqual([]);
      expect((await write('select 1')).success).toBe(false);
      await eventually(() => logged('database is degraded') && logged('database not reached') && logged(why));
      expect((await gateway.nextPoll()).capabilities).toMatchObject({ scopes: [] });
      expect(await write('select 1')).toMatchObject({ outcome: 'not_started', error_message: expect.stringMatching(/no pool/) });
    } finally {
      await root.query('alter system reset session_replication_role');
      await root.query('select pg_reload_conf()');
    }
    await eventually(() => logged('database is back'));
    expect(await seen()).toMatchObject({ settings: fixed });
  });
});
