import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDriver } from '../../agent/drivers/create.js';
import type { Driver } from '../../agent/drivers/driver.js';
import { defaultTimings } from '../../agent/timings.js';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';
import { type MigrationBench, startMigrationBench, tableFiles } from '../support/migration-bench.js';
import { connectEmptyDatabase } from '../support/postgres.js';

/**
 * Somebody who may create in schema public makes all operators between two types of the server that the server itself lacks. Where
 * one of them fits better than a built-in, the server calls it.
 */
const traps = `
  set search_path = pg_catalog;
  create sequence public.traps;
  create function public.make_interval(days text) returns interval language plpgsql as $$ begin perform nextval('public.traps'); raise exception 'trapped'; end $$;
  do $do$
  declare
    l text; r text; o text;
    types text[] := '{name,text,"\\"char\\"",int2,int4,int8,oid,regclass,regnamespace,regtype,float4,float8,numeric,jsonb,bool,timestamptz,interval}';
  begin
    foreach l in array types loop foreach r in array types loop
      execute format($$create function public.trap(%s, %s) returns boolean language plpgsql as
        'begin perform nextval(''public.traps''); raise exception ''trapped''; end'$$, l, r);
      foreach o in array '{=,<>,<,<=,>,>=,~,!~,~~,||,->,->>,?,+,-,*}'::text[] loop
        if not exists (select from pg_operator where oprname = o and oprleft = l::regtype::oid and oprright = r::regtype::oid) then
          execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.trap)', o, l, r);
        end if;
      end loop;
    end loop; end loop;
  end $do$;
  reset search_path`;

// Roles belong to the whole server that the test files share.
const reader = `reader_${randomUUID().slice(0, 8)}`;

let client: pg.Client;
let bench: MigrationBench;
let driver: Driver;
let sql: SqlClassifier;
beforeAll(async () => {
  const made = await connectEmptyDatabase();
  client = made.client;
  await client.query(`
    create table parts (id int primary key, name text, parent int references parts);
    create table days (day date) partition by range (day);
    create table days_1 partition of days for values from ('2026-01-01') to ('2027-01-01');
    create type mood as enum ('fine');
    create function own() returns int language sql as 'select 1';
    create table moods (mood mood, n int default own());
    create view seen as select lower(name) as name from parts;
    insert into parts values (1, 'a');
    create role ${reader} login password 'x';
    grant select on all tables in schema public to ${reader};
    grant insert on parts to ${reader}`);
  await client.query(traps);
  const readUrl = Object.assign(new URL(made.database.url), { username: reader, password: 'x' }).href;
  bench = await startMigrationBench({ database: made.database, tables: `read_url = "${readUrl}"` });
  const { config } = bench.agent;
  driver = createDriver(config.databases[0]!, config, defaultTimings);
  sql = await createSqlClassifier();
});
afterAll(async () => {
  await driver?.close();
  await sql?.close();
  await client?.query(`drop owned by ${reader}; drop role ${reader}`);
  await client?.end();
  await bench?.close();
});

const signal = new AbortController().signal;
const trapped = async () => (await client.query('select is_called from traps')).rows[0].is_called;

describe("no operator or function of the search path takes a built-in's place in the agent's own statements (HD-30)", () => {
  it('when it connects, looks at its role and deletes old markers', async () => {
    expect(await driver.connect({ onlyLook: false })).toMatchObject({ markerReady: true, markerProblem: null });
    expect(await driver.readRoleRights()).toBe('the role of reads may write (public.parts)');
    const columns = 'request_id, fence, mode, state, execution_id, agent_id, approval_digest, created_at';
    await client.query(
      `insert into svc.svc_execution_marker (${columns}) values ('-', 0, 'tx', 'done', '-', '-', '-', now() - interval '1 year')`,
    );
    expect(await driver.deleteOldMarkers()).toBe(1);
    expect(await trapped()).toBe(false);
  });

  it('when it reads the schema', async () => {
    const { tables, user_code } = await driver.snapshot(30_000, signal);
    expect(tables.map(({ name, code }) => [name, code])).toEqual(
      expect.arrayContaining([
        ['days', []],
        ['moods', ['public.own']],
        ['parts', []],
      ]),
    );
    expect(user_code?.operators).toContain('!~');
  });

  it('when it plans', async () => {
    const text = 'select max(name) from seen';
    const verdict = await sql.classify(text, { dialect: 'postgresql', statementTimeoutSecs: 30 });
    if (verdict.verdict !== 'accepted') throw new Error(verdict.verdict);
    const [facts] = verdict.facts;
    const { explained, hidden } = await driver.explain({ sql: text, read: true, facts: facts!, timeoutMs: 30_000, signal });
    expect([explained, hidden]).toEqual([{ plan: expect.stringContaining('Aggregate') }, null]);
  });

  it('when it reads and writes, also after a lost attempt and outside a transaction', async () => {
    const run = (operation: string, detail: string, input = {}) => bench.gateway.offer({ operation, detail, ...input }).result;
    const done = { success: true, outcome: 'committed' };
    expect(await run('execute_select', `select 'fine'::mood as mood, array['fine'::mood]`)).toMatchObject(done);
    expect(await run('execute_dml', `update parts set name = 'b'`, { maxAffectedRows: 5 })).toMatchObject(done);
    const requestId = randomUUID();
    expect(await run('execute_dml', 'update parts set id = id / 0', { requestId })).toMatchObject({ success: false });
    const again = { requestId, fence: 2, unresolvedFences: [1] };
    expect(await run('execute_dml', `update parts set name = 'c'`, again)).toMatchObject(done);
    expect(await run('execute_dml', 'create index concurrently parts_name on parts (name)')).toMatchObject(done);
    expect(await trapped()).toBe(false);
  });

  it('when it migrates', async () => {
    const outside = { version: 'v0', up: 'create index concurrently parts_parent on parts (parent)', transactional: false };
    const { success, outcome, result_data } = await bench.up([outside, ...tableFiles(1)]);
    expect([success, outcome, result_data]).toEqual([true, 'committed', '{"applied":["v0","v1"]}']);
    const status = await bench.run('migrate_status', '{}');
    expect(status).toMatchObject({ success: true });
    expect(await bench.down(tableFiles(1), 1)).toMatchObject({ success: true });
    expect(await trapped()).toBe(false);
  });
});
