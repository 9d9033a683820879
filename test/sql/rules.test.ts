import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlJudge, type SqlJudge, type Verdict } from '../../sql/judge.js';
import { formOf } from '../../sql/statement-forms.js';

let sql: SqlJudge;
beforeAll(async () => {
  sql = await createSqlJudge();
});
afterAll(() => sql.close());

const judge = (text: string): Promise<Verdict> => sql.judge(text, { dialect: 'postgresql', statementTimeoutSecs: 30 });

/** Class as the tables of sql-safety.md name it; what is refused by its reason. */
async function said(text: string): Promise<string> {
  const verdict = await judge(text);
  if (verdict.verdict === 'empty') return 'empty';
  if (verdict.verdict === 'refused') return `${verdict.reason.split(':')[0]}${verdict.hint === null ? '' : ' (M)'}`;
  return [...new Set(verdict.statements.map((each) => each.class))].join(' ');
}

const expectAll = (id: string, expected: string, texts: readonly string[]): void => {
  it.each(texts)(`${id}: %s is ${expected}`, async (text) => {
    expect(await said(text)).toBe(expected);
  });
};

describe('what is judged and in which order', () => {
  it.each([
    'create table t (a int, b int generated always as (a) virtual)',
    'update t set a = 1 returning with (old as o, new as n) o.a, n.a',
    'create table t (a int4range, primary key (a without overlaps))',
    'select * from json_table($$[]$$, $$$$ columns (a int))',
  ])('SQ-3: takes what only a grammar of today knows: %s', async (text) => {
    expect((await judge(text)).verdict).toBe('accepted');
  });

  it('SQ-4: has a row for every kind of statement it takes, and refuses the tag of any other', () => {
    for (const tag of ['TomorrowStmt', 'RawStmt', 'PLAssignStmt', 'CreateConversionStmt', 'toString', '__proto__', ''])
      expect(formOf(tag, {}, { statementTimeoutSecs: 30 })).toMatchObject({ verdict: 'refused' });
  });

  it.each<[string, string, string, string]>([
    ['SQ-8', 'U+0000 in a blank text', ' \0', 'the text holds the character U+0000'],
    ['SQ-8', 'U+0000 in too long a text', `\0${' '.repeat(1_048_577)}`, 'the text holds the character U+0000'],
    ['SQ-9', 'too much white space', ' '.repeat(1_048_577), 'empty'],
    ['SQ-10', 'too many bytes that do not parse', 'é'.repeat(524_289), 'more than 1048576 bytes'],
    ['SQ-10', 'too many bytes of comments', `--${'x'.repeat(1_048_575)}`, 'more than 1048576 bytes'],
    [
      'SQ-11',
      'a syntax error before 101 statements',
      `selec 1;${'commit;'.repeat(101)}`,
      'not understood: syntax error at or near "selec"',
    ],
    ['SQ-12', 'comments and semicolons', '/* a */;;-- b', 'empty'],
    ['SQ-13', '101 refused statements', 'commit;'.repeat(101), 'more than 100 statements'],
    [
      'SQ-14',
      'a refused statement in a refused batch',
      'select 1; select 2; commit',
      'transaction control: COMMIT (statement 3)',
    ],
    [
      'SQ-15',
      'a batch that breaks a rule',
      'select 1; select 2',
      'a batch that only reads may hold one statement that produces a result, the last',
    ],
  ])('%s: says of %s', async (_id, _what, text, expected) => {
    const verdict = await judge(text);
    expect(verdict.verdict === 'refused' ? verdict.reason : verdict.verdict).toBe(expected);
  });

  it('SQ-10: takes 1,048,576 bytes, and SQ-9 looks at no other white space', async () => {
    const comment = `--${'x'.repeat(1_048_574 - 9)}\nselect 1`;
    expect(Buffer.byteLength(comment)).toBe(1_048_576);
    expect((await judge(comment)).verdict).toBe('accepted');
    for (const text of ['\u00a0', '\u2028', '\ufeff', '\u0085']) expect(await said(text)).toBe('not understood');
  });
});

describe('SQ-5: every place of a tree is looked at', () => {
  const call = 'pg_sleep(1)';
  const places = [
    `select ${call}`,
    `select 1 from t where ${call} is null`,
    `select 1 from t group by ${call}`,
    `select 1 from t group by grouping sets ((a), (${call}))`,
    `select 1 from t having ${call} is null`,
    `select 1 from t order by ${call}`,
    `select 1 from t limit (${call})::text::int`,
    `select 1 from t offset (${call})::text::int`,
    `select distinct on (${call}) 1 from t`,
    `select 1 from t join u on ${call} is null`,
    `select 1 from t, lateral (select ${call}) x`,
    `select 1 from rows from (generate_series(1, 2), ${call}) x`,
    `select 1 from t tablesample system (${call})`,
    `select 1 from t tablesample system (1) repeatable (${call})`,
    `select 1 from json_table('{}', '$' passing ${call} as a columns (b int))`,
    `select 1 from xmltable('/a' passing (${call}) columns b int default (${call}))`,
    `select count(*) filter (where ${call} is null) from t`,
    `select array_agg(a order by ${call}) from t`,
    `select percentile_cont(0.5) within group (order by ${call}) from t`,
    `select sum(1) over (partition by ${call}) from t`,
    `select sum(1) over w from t window w as (order by ${call})`,
    `select sum(1) over (order by a rows between ${call}::text::int preceding and current row) from t`,
    `select case a when ${call} then 1 else 2 end from t`,
    `select coalesce(null, ${call})`,
    `select greatest(${call}, null)`,
    `select row(1, ${call})`,
    `select array[[1], [${call}]]`,
    `select a[${call}] from t`,
    `select (${call}).x from t`,
    `select ${call} collate "C"`,
    `select cast(${call} as text)`,
    `select ${call} is not distinct from null`,
    `select 1 between 0 and ${call}`,
    `select f(x => ${call})`,
    `select f(variadic array[${call}])`,
    `select xmlelement(name a, xmlattributes(${call} as b))`,
    `select json_object('a': ${call})`,
    `select json_array(select ${call})`,
    `select json_value('{}', '$' default ${call} on empty)`,
    `select exists (select ${call})`,
    `select 1 = any (select ${call})`,
    `select 1 union select ${call}`,
    `select ${call} except select 1`,
    `(select 1 intersect (values (${call}))) order by 1`,
    `values (1), (${call})`,
    `with a as (select ${call}) select 1`,
    `with recursive a as (select 1 union select ${call} from a) search depth first by b set c select 1`,
    `with a as materialized (with b as (values (${call})) table b) table a`,
    `select (select (select ${call}))`,
  ];
  it.each(places)('%s calls a function', async (text) => {
    expect(await said(text)).toBe('write');
    expect(await said(text.replaceAll(call, 'harmless(1)'))).toBe('read');
  });
});

describe('classes of section 2', () => {
  expectAll('SQ-20', 'read', [
    'select 1',
    'values (1)',
    'table t',
    'with a as (select 1) select * from a',
    'show server_version',
    'explain select 1',
    'explain insert into t values (1)',
    'explain update t set a = 1',
    'explain delete from t',
    'explain merge into t using u on true when matched then delete',
    'explain create table t as select 1',
    'explain (verbose, costs off, format json) delete from t',
  ]);
  expectAll('SQ-21', 'write', [
    'explain analyze delete from t',
    'explain analyze verbose delete from t',
    'explain (analyze) delete from t',
    'explain (analyze on) delete from t',
    'explain (ANALYZE True) delete from t',
    'explain (analyze 1) delete from t',
    'explain (analyze 2) delete from t',
    "explain (analyze 'on') delete from t",
    'explain (analyze 0.0) delete from t',
    'explain (analyze, analyze off) delete from t',
    'explain (analyze off, analyze) delete from t',
    'explain analyze insert into t values (1)',
    'explain analyze update t set a = 1',
    'explain analyze merge into t using u on true when matched then delete',
  ]);
  expectAll('SQ-21', 'read', [
    'explain analyze select 1',
    'explain (analyze off) delete from t',
    'explain (analyze FALSE) delete from t',
    'explain (analyze 0) delete from t',
  ]);
  expectAll('SQ-21', 'ddl', ['explain analyze create table t as select 1', 'explain analyze select 1 into t']);
  expectAll('SQ-22', 'write', [
    'insert into t default values',
    'with a as (select 1) insert into t select * from a',
    'update t set a = 1 where b = 2',
    'delete from t where a = 1',
    'merge into t using u on true when not matched then insert default values',
    'with a as (select 1) merge into t using a on true when matched then do nothing',
    'call p(1)',
    'notify c',
    'analyze',
    'analyze (verbose) t (a)',
    'vacuum',
    'vacuum (analyze) t',
    'refresh materialized view concurrently m',
    'refresh materialized view m with no data',
  ]);
  expectAll('SQ-23', 'ddl', [
    'create table t (a int)',
    'create unlogged table if not exists t (like u including all)',
    'create temp table t (a int) on commit drop',
    'create table t partition of u for values in (1)',
    'create table t as select 1',
    'create table t as values (1) with no data',
    'select 1 as a into temp t',
    'create view v as select 1',
    'create or replace recursive view v (a) as select 1',
    'create materialized view m as select 1 with no data',
    'create unique index on t (lower(a)) include (b) where c',
    'alter table t add constraint c check (a > 0) not valid, alter a set default 1',
    'alter table if exists t drop constraint c',
    'alter table t attach partition u default',
    'alter table t rename to u',
    'alter table t rename column a to b',
    'alter table t rename constraint a to b',
    'alter table t set schema s',
    'alter sequence s restart 1',
    'alter sequence s owned by t.a',
    'alter sequence s rename to z',
    'alter sequence s set schema z',
    "comment on table t is 'x'",
    'comment on function f(int) is null',
    'reindex table t',
    'reindex index i',
    'cluster t using i',
    'vacuum full t',
    'vacuum (full, analyze) t',
  ]);
  expectAll('SQ-25', 'setting', [
    "set timezone = 'UTC'",
    'set local lock_timeout = 5',
    "set names 'UTF8'",
    'set time zone local',
  ]);
});

describe('refusals of section 2', () => {
  const parts = ['ROW LEVEL SECURITY', 'TRIGGER g', 'TRIGGER ALL', 'TRIGGER USER', 'RULE r'];
  expectAll('SQ-26', 'privileges', [
    'grant select on t to a',
    'grant a to b',
    'revoke all on schema s from a',
    'create role a',
    'create user a',
    'alter role a superuser',
    'alter role a set work_mem = 1',
    'drop role a',
    'alter table t owner to a',
    'alter sequence s owner to a',
    'alter view v owner to a',
    'alter schema s owner to a',
    'alter database d owner to a',
    'alter function f() owner to a',
    'reassign owned by a to b',
    'drop owned by a',
    'alter default privileges revoke all on tables from a',
    'create policy p on t',
    'alter policy p on t using (true)',
    'alter policy p on t rename to q',
    'drop policy p on t',
    "security label on table t is 'x'",
    'alter table t force row level security',
    'alter table t no force row level security',
    'alter table t add column a int, enable always trigger g',
    'alter table t enable replica rule r',
    ...parts.flatMap((part) => [`alter table t enable ${part}`, `alter table t disable ${part}`]),
  ]);
  expectAll('SQ-27', 'code (M)', [
    'create function f() returns int return 1',
    "create procedure p() language sql as ''",
    'alter function f() stable',
    'drop routine f()',
    'create aggregate a (int) (sfunc = f, stype = int)',
    'create operator + (function = f, leftarg = int)',
    'create operator class c for type int using btree as storage int',
    'create operator family f using btree',
    'alter operator family f using btree drop operator 1 (int, int)',
    'create cast (int as text) without function',
    'drop cast (int as text)',
    'create trigger g before insert on t for each row execute function f()',
    'alter trigger g on t rename to h',
    'create event trigger e on ddl_command_start execute function f()',
    'alter event trigger e disable',
    'create rule r as on insert to t do also nothing',
    'drop rule r on t',
    'create language l',
    'create extension e',
    'alter extension e update',
    'alter extension e add table t',
    'drop extension e',
    'alter function f() depends on extension e',
    'do $$ $$',
    "load 'x'",
  ]);
  expectAll('SQ-28', 'infrastructure (M)', [
    'create schema s create table t (a int)',
    'drop schema s',
    'alter schema s rename to z',
    'create database d',
    'alter database d set work_mem = 1',
    'alter database d refresh collation version',
    'drop database d',
    "create tablespace s location '/x'",
    'alter tablespace s set (seq_page_cost = 1)',
    'alter table all in tablespace s set tablespace z',
    'drop tablespace s',
    'create type y as (a int)',
    "create type y as enum ('a')",
    'create type y as range (subtype = int)',
    'create type y',
    "alter type y add value 'b'",
    'alter type y add attribute a int',
    'alter type y rename attribute a to b',
    'drop type y',
    'create domain d as int',
    'alter domain d drop not null',
    'alter domain d rename constraint a to b',
    'create collation c from "C"',
    'alter collation c refresh version',
    'create statistics s on a, b from t',
    'alter statistics s set statistics 1',
    'create text search configuration c (copy = d)',
    'alter text search configuration c drop mapping for a',
    'create text search dictionary d (template = x)',
    'alter text search dictionary d (a = b)',
    'create foreign data wrapper w',
    'create server s foreign data wrapper w',
    'create foreign table t (a int) server s',
    'alter foreign table t add column a int',
    'create user mapping for a server s',
    'import foreign schema s from server x into y',
    'create publication p',
    'alter publication p add table t',
    "create subscription s connection 'x' publication p",
    'drop subscription s',
    'alter view v alter a set default 1',
    'alter view v set schema s',
    'alter index i set tablespace s',
    'alter index i attach partition j',
    'alter materialized view m cluster on i',
    'alter system reset all',
    'reindex schema s',
    'reindex database d',
    'reindex system d',
    'cluster',
  ]);
  expectAll('SQ-29', 'transaction control', [
    'begin',
    'start transaction read write',
    'commit and chain',
    'end',
    'rollback',
    'abort',
    'savepoint a',
    'release savepoint a',
    'rollback to savepoint a',
    "prepare transaction 'x'",
    "commit prepared 'x'",
    "rollback prepared 'x'",
    'set transaction isolation level serializable',
    "set transaction snapshot 'x'",
    'set session characteristics as transaction read write',
    'set constraints all immediate',
  ]);
  expectAll('SQ-30', 'locks', ['lock t', 'lock table only t in row share mode nowait']);
  expectAll('SQ-31', 'session state', [
    'prepare p as select 1',
    'execute p',
    'deallocate all',
    'declare c cursor with hold for select 1',
    'fetch all c',
    'move c',
    'close c',
    'listen c',
    'unlisten *',
    'discard temp',
    'reset timezone',
    'reset all',
    'set search_path = s',
    'set "TimeZone_" = 1',
    'set role a',
    'set session authorization default',
    'set transaction_read_only = off',
    'set my.own = 1',
    'set xml option content',
    'checkpoint',
    'explain execute p',
    'explain analyze declare c cursor for select 1',
  ]);
  expectAll('SQ-32', 'server files or client data', [
    "copy t from '/x'",
    "copy t to '/x'",
    'copy t from stdin',
    'copy (select 1) to stdout',
    "copy t to program 'x'",
  ]);
  expectAll('SQ-33', 'not understood', [
    "create conversion c for 'UTF8' to 'LATIN1' from f",
    'create access method a type index handler h',
    'explain refresh materialized view m',
    'explain create materialized view m as select 1',
  ]);
});

describe('what makes a query more than a read (section 3)', () => {
  expectAll('SQ-40', 'write', [
    'with a as (insert into t values (1) returning 1) select 1',
    'with a as (update t set b = 1 returning 1) select 1',
    'with a as (delete from t returning 1) select 1',
    'with a as (merge into t using u on true when matched then delete returning 1) select 1',
    ...['update', 'no key update', 'share', 'key share'].flatMap((strength) => [
      `select * from t for ${strength}`,
      `select * from (select * from t for ${strength} of t nowait) x`,
    ]),
    'select dblink_exec($$x$$)',
  ]);
  expectAll('SQ-41', 'ddl', ['select 1 into t', '(select 1 into unlogged t) union select 2', 'select * into s.t from u']);
  expectAll('SQ-42', 'write', [
    'select any_schema_at_all.pg_sleep(1)',
    'select PG_Sleep(1)',
    'select "PG_SLEEP"(1)',
    'select U&"\\0070g_sleep"(1)',
    'select * from pg_ls_dir($$.$$)',
    'select * from any_schema.dblink($$x$$) as d (a int)',
    'select ($$s$$::regclass).nextval',
  ]);
  expectAll('SQ-42', 'read', [
    "select 'pg_sleep(1)'",
    'select "pg_sleep(1)" from t',
    'select pg_sleep from t',
    'select * from pg_sleep',
    'select 1 as nextval',
  ]);
  expectAll('SQ-43', 'read', [
    'explain with a as (delete from t returning 1) select 1 from a for update',
    'explain select 1 into t',
  ]);
  expectAll('SQ-43', 'write', [
    'explain select pg_sleep(1)',
    'explain insert into t select pg_sleep(1)',
    'explain create table t as select pg_sleep(1)',
  ]);
});

describe('batches and settings (sections 4 and 5)', () => {
  it('SQ-52: a setting is a part of the job that it came with', async () => {
    const verdict = await judge("set timezone = 'UTC'; select 1");
    expect(verdict).toMatchObject({ read: true, statements: [{ kind: 'setting' }, { kind: 'query' }] });
  });

  const late = 'settings must come before all other statements';
  const oneRead = 'a batch that only reads may hold one statement that produces a result, the last';
  const alone = 'a statement that cannot run in a transaction must be the only one';
  it.each<[string, string, string | null]>([
    ['SQ-60', "select 1; set timezone = 'UTC'", late],
    ['SQ-60', "set lock_timeout = 1; delete from t where a = 1; set timezone = 'UTC'", late],
    ['SQ-60', "set lock_timeout = 1; set timezone = 'UTC'; delete from t where a = 1", null],
    ['SQ-61', 'select 1; show all', oneRead],
    ['SQ-61', 'explain select 1; explain select 1', oneRead],
    ['SQ-61', "set timezone = 'UTC'; select 1; select 2", oneRead],
    ['SQ-61', 'set lock_timeout = 1; set lock_timeout = 2', null],
    ['SQ-61', 'select 1; select 2; delete from t where a = 1', null],
    ...[
      'create index concurrently i on t (a)',
      'drop index concurrently i',
      'reindex table concurrently t',
      'reindex (concurrently) index i',
      'vacuum t',
      'vacuum full',
      'alter table t detach partition p concurrently',
    ].flatMap((text): [string, string, string | null][] => [
      ['SQ-62', text, null],
      ['SQ-62', `${text}; delete from t where a = 1`, alone],
      ['SQ-62', `set lock_timeout = 1; ${text}`, alone],
    ]),
    ['SQ-62', 'reindex (concurrently off) table t; delete from t where a = 1', null],
    ['SQ-62', 'alter table t detach partition p finalize; delete from t where a = 1', null],
  ])('%s: of %s says %s', async (_id, text, reason) => {
    const verdict = await judge(text);
    expect(verdict.verdict === 'refused' ? verdict.reason : null).toBe(reason);
  });

  it('SQ-62: it runs outside a transaction', async () => {
    expect(await judge('vacuum t')).toMatchObject({ statements: [{ outsideTransaction: true }] });
    expect(await judge('create index i on t (a)')).toMatchObject({ statements: [{ outsideTransaction: false }] });
  });
});
