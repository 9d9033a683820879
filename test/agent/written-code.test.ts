import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';
import { createDriver } from '../../agent/drivers/create.js';
import type { Driver } from '../../agent/drivers/driver.js';
import { defaultTimings } from '../../agent/timings.js';
import { BUILTIN_REVIEW } from '../../config/shared.js';
import { assessRisk, type Risk } from '../../domain/risk.js';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';
import { review } from '../../sql/review.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let target: pg.Client;
let driver: Driver;
let classifier: SqlClassifier;
beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  classifier = await createSqlClassifier();
  const file = join(mkdtempSync(join(tmpdir(), 'svc-agent-')), 'agent.toml');
  const server = '[server]\nurl = "http://127.0.0.1:1"\nagent_token = "svc_test"\n';
  writeFileSync(file, `${server}[databases.shop.staging]\nurl = "${database.url}"\n`);
  const config = loadAgentConfig(file, {});
  driver = createDriver(config.databases[0]!, config, defaultTimings);
});
afterAll(async () => {
  await driver?.close();
  await classifier?.close();
  await target?.end();
  await database?.drop();
});

/** Tells the planner of the tables of the test. A bare ANALYZE takes ten times as long, for the catalogs. */
const analyze = `do $$ declare one regclass; begin
  for one in select oid from pg_class where relkind in ('r', 'p') and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
  loop execute 'analyze ' || one; end loop;
end $$`;

beforeEach(() =>
  target.query(`
    create table t (id bigint primary key, name text, part int);
    create table victims (id int);
    insert into t select n, 'n' || n, n from generate_series(1, 20) n;
    insert into victims select generate_series(1, 5);
    create function evil() returns int language plpgsql as $$ begin delete from victims; return 1; end $$;
    ${analyze}`),
);
afterEach(() => target.query('drop schema public cascade; drop schema if exists other cascade; create schema public'));

const rule = { allowReadOnly: true, allowSafeDdl: true, maxEstimatedRows: 1000, maxSnapshotAgeSecs: 86_400 };

/** The risk of a text by the schema as an agent sees it now. */
async function riskOf(sql: string): Promise<Risk> {
  const verdict = await classifier.classify(sql, { dialect: 'postgresql', statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(`${sql}: ${JSON.stringify(verdict)}`);
  const { operation, facts } = verdict;
  const { findings } = review(verdict, BUILTIN_REVIEW.rules);
  const snapshot = await driver.snapshot(30_000, new AbortController().signal);
  return assessRisk({ operation, facts, findings, autoApprove: rule, snapshot, snapshotAgeMs: 0 });
}

/** Whether the text really changes rows of another table. */
async function doesHarm(sql: string): Promise<boolean> {
  await target.query('begin');
  await target.query(sql);
  const { rows } = await target.query('select count(*)::int as n from victims');
  await target.query('rollback');
  return rows[0].n < 5;
}

describe('a write that runs what a user made is of unknown risk (HD-21)', () => {
  it.each([
    ['a call', '', 'update t set part = evil() where id = 1', 'evil()'],
    ['a call with its schema', '', 'delete from t where id = public.evil()', 'public.evil()'],
    [
      'an overload of a built-in',
      'create function lower(bigint) returns text language sql as $$ select evil()::text $$',
      'update t set name = lower(id) where id = 1',
      'lower()',
    ],
    [
      'a field that is a call',
      'create function price(t) returns int language sql as $$ select evil() $$',
      'update t set part = t.price where t.id = 1',
      'price()',
    ],
    [
      'an operator of its own',
      'create function f(bigint, bigint) returns boolean language sql as $$ select evil() = 1 $$; create operator === (leftarg = bigint, rightarg = bigint, function = f)',
      'update t set part = 1 where id === 1',
      '===',
    ],
    [
      'an overload of an operator',
      'create function f(bigint, text) returns boolean language sql as $$ select evil() = 1 $$; create operator = (leftarg = bigint, rightarg = text, function = f)',
      `update t set part = 1 where id = '1'::text`,
      '=',
    ],
    [
      'a cast that nobody writes',
      `create type mood as enum ('x'); create function f(mood) returns int language sql as $$ select evil() $$;
       create cast (mood as int) with function f(mood) as assignment; alter table t add feeling mood default 'x'`,
      'update t set part = feeling where id = 1',
      'cast mood as integer',
    ],
    [
      'a cast that is written',
      'create function f(int) returns boolean language sql as $$ select evil() = 1 $$; create domain d as int check (f(value))',
      'update t set part = 2::d where id = 1',
      'd',
    ],
    [
      'a type whose name is given as text',
      'create function f(int) returns boolean language sql as $$ select evil() = 1 $$; create domain d as int check (f(value))',
      `update t set part = 2 where id = 1 and pg_input_is_valid('2', 'd')`,
      'pg_input_is_valid()',
    ],
    ['a default', 'alter table t alter part set default evil()', `insert into t (id) values (30)`, 'public.evil()'],
    [
      'a check',
      'create function f(int) returns boolean language plpgsql as $$ begin perform evil(); return true; end $$; alter table t add check (f(part)) not valid',
      'update t set part = 2 where id = 1',
      'public.f()',
    ],
    [
      'a generated column',
      'create function f(int) returns int immutable language plpgsql as $$ begin return 1; end $$; alter table t add g int generated always as (f(part)) stored; create or replace function f(int) returns int immutable language plpgsql as $$ begin delete from victims; return 1; end $$',
      'update t set part = 2 where id = 1',
      null,
    ],
    [
      'the domain of a column',
      'create function f(int) returns boolean language plpgsql as $$ begin return true; end $$; create domain d as int check (f(value)); alter table t add e d[]; create or replace function f(int) returns boolean language plpgsql as $$ begin perform evil(); return true; end $$',
      'update t set e = array[1] where id = 1',
      'public.f()',
    ],
    [
      'the expression of an index',
      'create function f(int) returns int immutable language plpgsql as $$ begin return 1; end $$; create index i on t (f(part))',
      'update t set part = 2 where id = 1',
      null,
    ],
  ])('%s', async (_what, setup, sql, name) => {
    await target.query(setup);
    await target.query(analyze);
    // Functions that are called immutable may not write.
    if (name !== null) expect(await doesHarm(sql)).toBe(true);
    expect(await riskOf(sql)).toMatchObject({
      level: 'unknown',
      factors: [{ name: 'unlisted_function', names: [name ?? 'public.f()'] }],
    });
  });

  it('a view that is read or written, and a bare name that a view of another schema shares, is not resolved', async () => {
    await target.query(`create view v as select evil() as id; create schema other; create view other.t as select * from t`);
    for (const sql of [
      'update t set part = 1 where id in (select id from v)',
      'delete from v where id = 1',
      'delete from t where id = 1',
    ])
      expect(await riskOf(sql)).toMatchObject({ level: 'unknown', factors: [{ name: 'table_unresolved' }] });
    expect(await riskOf('delete from public.t where id = 1')).toMatchObject({ level: 'low' });
  });
});

describe('triggers and rules that a write reaches (HD-21)', () => {
  const trigger = (table: string, event: string) =>
    `create function fires() returns trigger language plpgsql as $$ begin perform evil(); return null; end $$;
     create trigger g after ${event} on ${table} for each row execute function fires()`;

  it.each([
    ['its own', trigger('t', 'update'), 'update t set part = 1 where id = 1', ['t']],
    ['a rule', 'create rule r as on update to t do also delete from victims', 'update t set part = 1 where id = 1', ['t']],
    [
      'a partition',
      `create table p (id int) partition by range (id); create table p1 partition of p for values from (0) to (9); insert into p values (1); ${trigger('p1', 'update')}`,
      'update p set id = 2 where id = 1',
      ['p'],
    ],
    [
      'a heir',
      `create table heir () inherits (t); insert into heir values (100, 'x', 1); ${trigger('heir', 'delete')}`,
      'delete from t where id = 100',
      ['t'],
    ],
    [
      'a child that is set to null',
      `create table c (id int, t_id bigint references t on delete set null); insert into c values (1, 1); ${trigger('c', 'update')}`,
      'delete from t where id = 1',
      ['c'],
    ],
    [
      'a grandchild whose key follows',
      `create table c (id bigint primary key references t on update cascade); insert into c values (1);
       create table d (id bigint references c on update cascade); insert into d values (1); ${trigger('d', 'update')}`,
      'update t set id = 200 where id = 1',
      ['d'],
    ],
  ])('%s', async (_what, setup, sql, tables) => {
    await target.query(setup);
    await target.query(analyze);
    expect(await doesHarm(sql)).toBe(true);
    const risk = await riskOf(sql);
    expect(risk.level).toBe('medium');
    expect(risk.factors).toContainEqual({ name: 'triggers', tables });
  });

  it('that are off or of another table do not count', async () => {
    await target.query(`${trigger('t', 'update')}; alter table t disable trigger g`);
    expect(await riskOf('update t set part = 1 where id = 1')).toMatchObject({ level: 'low', factors: [] });
    await target.query('alter table t enable trigger g');
    expect(await riskOf('update victims set id = 1 where id = 1')).toMatchObject({ level: 'low', factors: [] });
  });
});

describe('rows that a key tells (HD-96)', () => {
  beforeEach(() =>
    target.query(`
      create table big (id bigint primary key, code varchar(9) unique, a int, b int, note text, late int unique deferrable, unique (a, b));
      create unique index half on big (note) where a > 5;
      insert into big (id, a, b) select n, n, 1 from generate_series(1, 2000) n;
      create table split (id int, day date, primary key (id, day)) partition by list (day);
      create table split1 partition of split default;
      insert into split select n, '2026-01-01' from generate_series(1, 2000) n;
      create table heirs (id int primary key); create table heir1 () inherits (heirs);
      insert into heirs select generate_series(1, 2000); insert into heir1 select generate_series(1, 2000);
      ${analyze}`),
  );

  it.each([
    `update big set note = 'x' where id = 5`,
    `update big x set note = 'x' where 5 = x.id and note is null`,
    `delete from big where code = 'a'`,
    `delete from big where id = '5'::bigint`,
    `delete from big where id in (5)`,
    `update big set note = 'x' where (a, b) = (1, 2)`,
    `update big set note = 'x' where b = 1 and a = 2`,
    `insert into big (id, a) values (3000, 3000), (3001, 3001)`,
    `insert into big (id) values (5) on conflict (id) do update set note = 'x'`,
    `delete from split where id = 5 and day = '2026-01-01'`,
    `with x as (update big set note = 'x' where id = 5 returning part) select 1`.replace(' returning part', ''),
  ])('do not make a table large: %s', async (sql) => {
    expect(await riskOf(sql)).toMatchObject({ level: 'low', factors: [] });
  });

  it.each([
    `update big set note = 'x' where id = 5 or a = 1`,
    `update big set note = 'x' where id > 5`,
    `update big set note = 'x' where a = 1`,
    `update big set note = 'x' where id = a`,
    `update big set note = 'x' where id = null`,
    `update big set note = 'x' where id in (5, 6)`,
    `update big set note = 'x' where not id = 5`,
    `update big set note = 'x' where id <> 5`,
    `update big set note = 'x' where id::text = '5'`,
    `update big set note = 'x' where id = 5::float8`,
    `update big set note = 'x' where id = (select 5)`,
    `update big set note = 'x' where note = 'x'`,
    `update big set note = 'x' where late = 5`,
    `update big set note = 'x' from big y where y.id = 5 and y.a = big.b`,
    `update big set note = 'x' from victims where big.id = 5`,
    `update big set note = (select max(note) from big) where id = 5`,
    `delete from big where id = any (array[5, 6])`,
    `delete from split where id = 5`,
    `delete from heirs where id = 5`,
    `insert into big (id) select id + 10000 from big`,
    `insert into t (id) values ((select max(id) from big))`,
    `merge into big using victims v on big.id = 5 when matched then update set note = 'x'`,
  ])('do: %s', async (sql) => {
    const risk = await riskOf(sql);
    expect(risk.level).toBe('medium');
    expect(risk.factors).toContainEqual({ name: 'large_table', rows: 2000 });
  });

  it('and SQ-90 counts only the children', async () => {
    await target.query('create table few (id bigint references big on delete cascade); insert into few values (1); analyze few');
    const cascade = { name: 'cascade_delete', targets: ['few'] };
    expect(await riskOf('delete from big where id = 1')).toMatchObject({ level: 'medium', factors: [cascade] });
    expect(await riskOf('delete from big where a = 1')).toMatchObject({ level: 'high' });
    await target.query('insert into few select n from generate_series(1, 2000) n; analyze few');
    expect(await riskOf('delete from big where id = 1')).toMatchObject({ level: 'high', factors: [cascade] });
  });
});
