import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, workflowToml } from '../support/toml.js';

const toml = [
  databaseToml('shop', ['staging']),
  dbaTeamToml,
  workflowToml({ auto: '{ mode = "risk_based", risk = "low", allow_read_only = true }', steps: [[{ group: 'dba-team' }]] }),
].join('');

let api: TestApi;
let target: TestDatabase;
let root: pg.Client;
let alice: string;
let bob: string;
let agent: TestAgent;

beforeAll(async () => {
  const [opened, connected] = await Promise.all([startTestApi({ toml }), connectEmptyDatabase()]);
  api = opened;
  target = connected.database;
  root = connected.client;
  alice = await api.createUser('alice', { roles: ['requester'] });
  bob = await api.createUser('bob', { groups: ['dba-team'] });
  await root.query(`
    create table parts (id int primary key, note text, qty int);
    insert into parts select n, 'fine', n from generate_series(1, 500) n;
    analyze parts;
  `);
});

beforeEach(async () => {
  await root.query(`update parts set note = 'fine', qty = id`);
});

afterAll(async () => {
  agent?.stop();
  await agent?.exit;
  await api?.close();
  await root?.end();
  await target?.drop();
});

/** An agent that meets the database as it is now, and whose view of it has reached the gateway. */
async function start(options: { url?: string; tables?: string } = {}): Promise<void> {
  agent?.stop();
  await agent?.exit;
  await api.services.database.query('delete from schema_snapshots');
  agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url, ...options });
  const synced = () => api.services.database.query('select 1 from schema_snapshots where collected_at is not null');
  await eventually(async () => (await synced()).length === 1);
}

/** What becomes of a text; what is not low is approved by bob. */
async function run(detail: string, more: object = {}) {
  const body = { database: 'shop', environment: 'staging', detail, ...more };
  const { body: created, text: said } = await api.call('POST', '/api/requests', { token: alice, body });
  const path = `/api/requests/${created.id}`;
  if (created.status === 'pending') {
    expect((await api.call('POST', `${path}/approve`, { token: bob, body: {} })).status).toBe(200);
    await api.call('POST', `${path}/resume`, { token: alice });
  }
  const read = async () => (await api.call('GET', path, { token: alice })).body;
  await expect.poll(async () => (await read()).status ?? said, { timeout: 15_000 }).toMatch(/executed|failed/);
  const { text } = await api.call('GET', `${path}/result/content`, { token: alice });
  return { ...(await read()), text };
}

const count = async (where: string) => Number((await root.query(`select count(*) from parts where ${where}`)).rows[0].count);
const alterDatabase = (what: string) => root.query(`alter database ${new URL(target.url).pathname.slice(1)} ${what}`);

async function under(setting: string, work: () => Promise<void>, alter: (what: string) => unknown = alterDatabase) {
  await alter(`set ${setting}`);
  try {
    await work();
  } finally {
    await alter(`reset ${setting.split(' ')[0]}`);
  }
}

describe('what the classifier reads is what the database does (HD-30)', () => {
  it.each(['alter database', 'alter role'])('standard_conforming_strings off by %s: the WHERE is no comment', async (how) => {
    const url = new URL(target.url);
    const alterRole = (what: string) => root.query(`alter role ${url.username} in database ${url.pathname.slice(1)} ${what}`);
    const work = async () => {
      await start();
      expect((await run(`UPDATE parts SET note = '\\'' -- ' WHERE id = 1`)).status).toBe('executed');
      expect(await count(`note <> 'fine'`)).toBe(1);
      expect((await run(`SELECT '\\'', pg_sleep(3) -- '`)).text).toContain('pg_sleep(3) -- ');
    };
    await under('standard_conforming_strings = off', work, how === 'alter role' ? alterRole : alterDatabase);
  });

  it.each([
    ['transform_null_equals = on', `UPDATE parts SET note = 'null' WHERE qty = NULL`, `note = 'null'`, 0],
    ['array_nulls = off', `UPDATE parts SET note = 'null' WHERE id = 1 AND ('{NULL}'::text[])[1] IS NULL`, `note = 'null'`, 1],
    [
      "datestyle = 'ISO, DMY'",
      `UPDATE parts SET note = 'day' WHERE id = extract(day from '02/01/2031'::date)`,
      `note = 'day' and id = 1`,
      1,
    ],
    ["intervalstyle = 'sql_standard'", `UPDATE parts SET qty = 7 WHERE id = 1 AND '-1 1:00'::interval > '-24h'`, 'qty = 7', 2],
    ['row_security = off', `UPDATE parts SET qty = 0 WHERE id = 1 AND current_setting('row_security') = 'on'`, 'qty = 0', 1],
  ])('%s of the database changes no text', async (setting, text, where, rows) => {
    await under(setting, async () => {
      await start();
      expect((await run(text)).status).toBe('executed');
      expect(await count(where)).toBe(rows);
    });
  });

  it('names are looked for along the path of the pair, whatever role and database say', async () => {
    await root.query(
      `create schema hidden; create table hidden.parts (like public.parts); insert into hidden.parts select * from public.parts`,
    );
    const zeroed = async (schema: string) =>
      Number((await root.query(`select count(*) from ${schema}.parts where qty = 0`)).rows[0].count);
    try {
      await under('search_path = hidden', async () => {
        await start();
        await run('UPDATE parts SET qty = 0 WHERE id = 1');
        expect([await zeroed('public'), await zeroed('hidden')]).toEqual([1, 0]);
        expect(agent.lines.join('\n')).toContain('set search_path of the pair');
        await start({ tables: 'search_path = "hidden, public"' });
        await run('UPDATE parts SET qty = 0 WHERE id in (2, 3)');
        expect([await zeroed('public'), await zeroed('hidden')]).toEqual([1, 2]);
        expect(agent.lines.join('\n')).not.toContain('set search_path of the pair');
      });
    } finally {
      await root.query('drop schema hidden cascade');
    }
  });

  it('a function that leaves settings behind changes no later statement of its text, and no later text', async () => {
    await root.query(`create function loose() returns int language plpgsql as $$ begin
      perform set_config('standard_conforming_strings', 'off', false), set_config('search_path', 'pg_temp', false),
        set_config('transform_null_equals', 'on', false), set_config('client_encoding', 'LATIN1', false);
      return 1; end $$`);
    await start({ tables: 'pool_max = 1' });
    const second = `UPDATE parts SET note = '\\'' -- ' WHERE id = 2 OR qty = NULL`;
    expect((await run(`UPDATE parts SET qty = loose() WHERE id = 1; ${second}`)).status).toBe('executed');
    expect(await count(`note <> 'fine'`)).toBe(1);
    expect((await run(`UPDATE parts SET qty = loose() WHERE id = 1`)).status).toBe('executed');
    const next = `UPDATE parts SET note = 'ä' || current_setting('search_path') || '\\'' -- ' WHERE id = 3 OR qty = NULL`;
    expect((await run(next)).status).toBe('executed');
    expect(await count(`note = 'ä"$user", public\\'' -- '`)).toBe(1);
    expect(await count(`note <> 'fine'`)).toBe(2);
  });

  it('a function changes neither how values are read and written nor whether triggers run, for what follows in its text', async () => {
    await root.query(`
      create function looser() returns int language plpgsql as $$ begin
        perform set_config('DateStyle', 'ISO, DMY', false), set_config('TimeZone', 'Asia/Tokyo', true),
          set_config('bytea_output', 'escape', true), set_config('extra_float_digits', '-10', true),
          set_config('quote_all_identifiers', 'on', true), set_config('session_replication_role', 'replica', false);
        return 1; end $$;
      create table checked (id int primary key);
      create table rests (id int references checked);`);
    await start();
    const values = `concat_ws(' ', '02/01/2031'::date, '2031-01-01 00:00'::timestamptz, '\\x00'::bytea, 1::float8 / 3, quote_ident('a'))`;
    expect(
      (await run(`UPDATE parts SET qty = looser() WHERE id = 1; UPDATE parts SET note = ${values} WHERE id = 1`)).status,
    ).toBe('executed');
    expect(await count(`note = '2031-02-01 2031-01-01 00:00:00+00 \\x00 0.3333333333333333 a'`)).toBe(1);
    const orphan = await run('UPDATE parts SET qty = looser() WHERE id = 1; INSERT INTO rests VALUES (7)');
    expect(orphan.status).toBe('failed');
    expect((await root.query('select * from rests')).rows).toEqual([]);
  });

  it('what a text sets by SET holds for all that follows in it, whatever a function sets meanwhile', async () => {
    await root.query(`create function elsewhere() returns int language plpgsql as $$ begin
      perform set_config('TimeZone', 'Asia/Tokyo', true), set_config('DateStyle', 'ISO, YMD', true); return 1; end $$`);
    await start();
    const text = `SET TIME ZONE 'Europe/Berlin'; SET datestyle = 'ISO, DMY'; UPDATE parts SET qty = elsewhere() WHERE id = 1;
      UPDATE parts SET note = concat_ws(' ', '02/01/2031'::date, '2031-01-01 00:00'::timestamptz) WHERE id = 1`;
    expect((await run(text)).status).toBe('executed');
    expect(await count(`note = '2031-01-02 2031-01-01 00:00:00+01'`)).toBe(1);
  });

  it('a migration cannot change how its next texts are read', async () => {
    await start();
    const files = (sql: string) =>
      JSON.stringify({
        format: 'v2',
        direction: 'up',
        dir_sha256: 'ab',
        versions: ['1'],
        migrations: [{ version: '1', sql, transactional: true }],
      });
    const refused = await api.call('POST', '/api/requests', {
      token: alice,
      body: {
        database: 'shop',
        environment: 'staging',
        operation: 'migrate_up',
        detail: files(`set standard_conforming_strings = off; select 1`),
      },
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('SET standard_conforming_strings');
    const hidden = `do $$ begin perform set_config('standard_conforming_strings', 'off', false); end $$;
      set search_path = hidden, public; UPDATE parts SET note = '\\'' -- ' WHERE id = 4`;
    expect((await run(files(hidden), { operation: 'migrate_up' })).status).toBe('executed');
    expect(await count(`note <> 'fine'`)).toBe(1);
  });
});

describe('a setting that the agent cannot put right (HD-30)', () => {
  it('session_replication_role: a superuser sets it back, for any other the pair is out of service with a message', async () => {
    const role = `plain_${Date.now()}`;
    await root.query(`create role ${role} login password 'x'; grant all on parts to ${role}`);
    const url = Object.assign(new URL(target.url), { username: role, password: 'x' }).href;
    try {
      await under("session_replication_role = 'replica'", async () => {
        await start({ tables: 'pool_max = 1' });
        for (const id of [1, 2]) {
          const text = `UPDATE parts SET note = current_setting('session_replication_role') WHERE id = ${id}`;
          expect((await run(text)).status).toBe('executed');
        }
        expect(await count(`note = 'origin'`)).toBe(2);
        agent.stop();
        await agent.exit;
        agent = startTestAgent({ gateway: api, token: api.tokens.agent, url, head: 'startup_max_wait_secs = 1' });
        expect(await agent.exit).toBe(1);
        expect(agent.lines.join()).toContain(`session_replication_role is 'replica' instead of 'origin'`);
      });
    } finally {
      await root.query(`drop owned by ${role}; drop role ${role}`);
    }
  });
});
