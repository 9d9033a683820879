import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Dialect } from '../../domain/statement.js';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

async function hitsOf(text: string, dialect: Dialect = 'postgresql'): Promise<string[]> {
  const verdict = await sql.classify(text, { dialect, statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict.facts.flatMap(({ hits }) => hits.filter((hit) => hit.startsWith('no_where')));
}

const truths = [
  ...[
    'true',
    '1=1',
    `'a'='a'`,
    'not false',
    'null is null',
    'coalesce(true)',
    'now() is not null',
    '(select true)',
    '1 in (1, 2)',
  ],
  ...['id = id', 't.id = id', 'id >= id', 'id is not distinct from id', 'id between id and id', 'id in (1, id)', 'not id <> id'],
  ...[
    'id is null or id is not null',
    'id = 5 or id <> 5',
    'not (id = 5 and id <> 5)',
    'id < 5 or not id < 5',
    'id = any (array[id])',
  ],
  ...['id * 0 = 0', 'id - id = 0', `name like '%'`, '(id = 5) is not null', '(id = 5 or true) = true', 'coalesce(true, id = 5)'],
  ...[
    'case when id = 5 then true else true end',
    'case when id = 5 then 1 else 1 end = 1',
    'case id when 5 then true else 1 = 1 end',
  ],
  ...['tableoid > 0', 'id in (select id from t)', 'id = any (select id from t)', 'id = any (array(select id from t))'],
  ...[
    'id in (table t)',
    'id in (select * from t where true)',
    'id in (select x.id from public.t x order by 1)',
    'id in (select t.id)',
  ],
  ...[
    'id in (select id from t union select 1)',
    'id in (select id from (select * from t) x)',
    'id in (select id from t limit all)',
  ],
  ...[
    '(id, name) in (select id, name from t)',
    'id in (select x.id from t x left join u on u.id = x.id)',
    'id in (select t.id from u)',
  ],
  ...[
    'id + 1 in (select id + 1 from t)',
    'exists (select 1)',
    'exists (select 1 from u)',
    'exists (select 1 from u where u.id = 5)',
  ],
  ...[
    'exists (select 1 from t where t.id = 5)',
    'exists (select 1 from t x where x.id = t.id)',
    'exists (select 1 from t x where id = t.id)',
  ],
  ...[
    'exists (select count(*) from u where u.id = t.id)',
    'exists (select 1 from u where u.id = t.id or true)',
    '(select t.id = t.id)',
  ],
  ...[
    'exists (select 1 from u where t.id = t.id)',
    'not exists (select 1 from u where false)',
    '(1, 2) = (1, 2)',
    'exists (select t.id)',
  ],
];

describe('a condition of PostgreSQL that holds for every row (HD-22)', () => {
  it.each(truths)('is found: %s', async (where) => {
    expect(await hitsOf(`delete from t where ${where}`)).toEqual(['no_where_delete']);
    expect(await hitsOf(`update t set name = 'x' where id = 5 or (${where})`)).toEqual(['no_where_update']);
    expect(await hitsOf(`update t set name = 'x' where (${where}) and true`)).toEqual(['no_where_update']);
  });

  it.each([
    'update t set a = 1 from u where u.id = 5',
    'update t x set a = 1 from u where u.id = 5 and u.b = x.c or 1 = 1',
    'update t set a = 1 from t x where t.id = x.id',
    'update t set a = 1 from t x where x.id = 5',
    'update t set a = 1 from (select id from t) x where t.id = x.id',
    'with x as (select id from t) update t set a = 1 from x where t.id = x.id',
    'with x as (select * from t), y as (select id from x) update t set a = 1 where id in (select id from y)',
    'update t set a = 1 from t x left join u on x.id = u.id where t.id = x.id',
    'with d as (update t set a = 1 where true returning 1) select 1',
    'merge into t using u on true when matched then update set a = 1',
    'merge into t using u on u.id = 5 when matched and t.id = 5 then update set a = 1',
    'merge into t using t x on t.id = x.id when matched then update set a = 1',
    'merge into t using u on t.id = u.id or true when matched then do nothing when matched then update set a = 1',
    'merge into t using u on t.id = u.id when not matched by source then update set a = 1',
  ])('is found: %s', async (text) => {
    expect(await hitsOf(text)).toEqual(['no_where_update']);
  });

  it('is told once for an UPDATE and a DELETE of one MERGE', async () => {
    const clauses =
      'when matched and t.a = 1 then delete when matched and t.a = 2 then delete when matched then update set a = 1';
    expect(await hitsOf(`merge into t using u on 1 = 1 ${clauses}`)).toEqual(['no_where_delete', 'no_where_update']);
  });
});

const restrictions = [
  ...[
    'id = 5',
    't.id = 5',
    'id > -1',
    'name is null',
    'name is not null',
    'active',
    'not active',
    'id in (1, 2)',
    'id between 1 and 9',
  ],
  ...[
    `name like 'a%'`,
    'coalesce(active, false)',
    '(id, name) = (1, 2)',
    'id = any (array[1, 2])',
    "lower(name) = 'x'",
    'id = $$5$$::int',
  ],
  ...['case when id = 5 then true else false end', 'case when id = 5 then false else true end', 'case id when 5 then true end'],
  ...[
    'id in (select id from t where name is null)',
    'id in (select id from t limit 5)',
    'id in (select t_id from u)',
    'id not in (1, 2)',
  ],
  ...[
    'id in (select x.id from t x join u on u.id = x.id)',
    'id in (select min(id) from t group by name)',
    'id in (select max(id) from t)',
  ],
  ...[
    'exists (select 1 from u where u.t_id = t.id)',
    'exists (select 1 from u where t_id = id)',
    'not exists (select 1 from u where u.t_id = t.id)',
  ],
  ...[
    'id = (select max(t_id) from u)',
    'exists (select 1 from t x where x.name = t.name and x.id < t.id)',
    'id <> 5',
    'id = 5 or id = 6',
  ],
  ...[
    'exists (select 1 from (select 1 from u where u.t_id = t.id) x)',
    'id = 5 or false',
    "now() - at > interval '1 day'",
    't is null',
  ],
  ...[
    'exists (select 1 from t x where x.id = t.id and x.name is null)',
    '(id = 5) is true',
    '(id = 5) is not true',
    "ctid = '(0,1)'",
  ],
  ...[
    'id in (select id from t except select 1)',
    'id in (with x as (select t_id from u) select * from x)',
    'tags @> array[1]',
    'body ->> 1 = 2',
  ],
];

describe('a condition of PostgreSQL that selects', () => {
  it.each(restrictions)('is no finding: %s', async (where) => {
    expect(await hitsOf(`delete from t where ${where}`)).toEqual([]);
    expect(await hitsOf(`update t set name = 'x' where (${where}) and 1 = 1`)).toEqual([]);
  });

  it.each([
    'update t set a = 1 from u where t.id = u.id',
    'update t set a = 1 from u where id = u.t_id and u.b = 5',
    'delete from t using t x where t.email = x.email and t.id > x.id',
    'update t set a = 1 from t x where t.id = x.id and x.b = 5',
    'update t set a = 1 from t x join u on x.id = u.id where t.id = x.id',
    'with x as (select id from t where a is null limit 10) update t set a = 1 from x where t.id = x.id',
    'with a as (select 1) update t set a = 1 where id in (select * from a)',
    'merge into t using u on t.id = u.id when matched then delete',
    'merge into t using u on t.id = u.id when not matched then insert values (1)',
    'merge into t using u on true when not matched then insert values (1)',
    'merge into t using u on t.id = u.id when not matched by source and t.a = 1 then delete',
    'delete from t where current of c',
  ])('is no finding: %s', async (text) => {
    expect(await hitsOf(text)).toEqual([]);
  });
});

describe('any condition (HD-22)', () => {
  const leaf = fc.constantFrom(...restrictions);
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.tuple(tie('condition'), fc.constantFrom('and', 'or'), tie('condition')).map(([a, how, b]) => `(${a}) ${how} (${b})`),
      tie('condition').map((inner) => `not (${inner})`),
    ),
  }));

  it('is found once a truth is added by OR, however deep', async () => {
    const place = fc.constantFrom<(a: string, b: string) => string>(
      (a, b) => `(${a}) or ${b}`,
      (a, b) => `${b} or (${a})`,
      (a, b) => `not (not (${a}) and not (${b}))`,
      (a, b) => `((${a}) or (${b})) and true`,
    );
    await fc.assert(
      fc.asyncProperty(condition, fc.constantFrom(...truths), place, async (where, truth, join) => {
        expect(await hitsOf(`delete from t where ${join(where, `(${truth})`)}`)).toEqual(['no_where_delete']);
      }),
      { numRuns: 500 },
    );
  });

  it('is no finding once a condition on a column is added by AND', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(condition, fc.constantFrom(...truths)), leaf, async (where, more) => {
        expect(await hitsOf(`delete from t where (${where}) and ${more}`)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

it('is classified in time when subqueries nest, and counts as unrestricted where too many do (SQ-7)', async () => {
  const nest = (levels: number): string => (levels === 0 ? 'a = 5' : `id in (select id from t where ${nest(levels - 1)})`);
  expect(await hitsOf(`delete from t where ${nest(4)}`)).toEqual([]);
  expect(await hitsOf(`delete from t where ${nest(30)}`)).toEqual(['no_where_delete']);
  const parts = Array.from({ length: 12 }, (_, at) => `c${at + 1} as (select a.id from c${at} a, c${at} b, c${at} c)`);
  expect(
    await hitsOf(`with c0 as (select id from t), ${parts.join(', ')} delete from t where id in (select id from c12)`),
  ).toEqual(['no_where_delete']);
});
