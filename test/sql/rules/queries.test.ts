import { describe, expect, it } from 'vitest';
import { expectAll, said, useClassifier } from './classified.js';

useClassifier();

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
