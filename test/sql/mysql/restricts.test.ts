import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../../sql/classify.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

async function hitsOf(text: string): Promise<string[]> {
  const verdict = await sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict.facts.flatMap(({ hits }) => hits.filter((hit) => hit.startsWith('no_where')));
}

const truths = [
  ...[
    '1',
    'true',
    '1=1',
    `'a'='a'`,
    '!0',
    'not false',
    'null is null',
    'now() is not null',
    '(select 1)',
    '2 > 1',
    '1 <=> 1',
    '- 1',
  ],
  ...[
    'id = id',
    '`id` = t.id',
    'id <=> ID',
    'id in (1, id)',
    'id between id and id',
    'not id <> id',
    'id is null or id is not null',
  ],
  ...[
    'id = 5 or id <> 5',
    'id = 5 || 1',
    'not (id = 5 && id <> 5)',
    'id * 0 = 0',
    `name like '%'`,
    'coalesce(1, id = 5)',
    'ifnull(true, id)',
  ],
  ...[
    'if(id = 5, 1, 1)',
    'case when id = 5 then 1 else 1 end',
    'case id when 5 then true else 1 = 1 end = 1',
    '(id = 5) is not null',
  ],
  ...[
    'id in (select id from t)',
    'id in (select id from (select id from t) x)',
    'id in (select * from t where 1)',
    'id in (select x.id from t x order by 1)',
  ],
  ...[
    'exists (select 1)',
    'exists (select 1 from u where u.id = 5)',
    'exists (select 1 from u where u.id = t.id or 1)',
    '@a = 1',
    "date '2020-01-01'",
  ],
  ...[
    'exists (select count(*) from u where u.id = t.id)',
    'not exists (select 1 from u where 0)',
    'interval 1 day + now() > now()',
    'id in (select t.id from u)',
  ],
];

describe('a condition of MySQL that holds for every row (HD-22)', () => {
  it.each(truths)('is found: %s', async (where) => {
    expect(await hitsOf(`delete from t where ${where}`)).toEqual(['no_where_delete']);
    expect(await hitsOf(`update t set name = 'x' where id = 5 or (${where}) limit 5`)).toEqual(['no_where_update']);
  });

  it.each([
    'update t join u set t.a = 1 where u.id = 5',
    'update t, u set t.a = 1 where u.id = 5',
    'update t join u on u.b = 5 set t.a = 1 where u.id = 5',
    'update t join t x on t.id = x.id set t.a = 1 where t.id = x.id',
    'update t as x set a = 1 where 1 order by id limit 5',
  ])('is found: %s', async (text) => {
    expect(await hitsOf(text)).toEqual(['no_where_update']);
  });

  it.each([
    'delete t from t join u where u.id = 5',
    'delete from t using t, u where u.id = 5',
    'delete t, u from t join u on 1 where 1 = 1',
  ])('is found: %s', async (text) => {
    expect(await hitsOf(text)).toEqual(['no_where_delete']);
  });
});

const restrictions = [
  ...[
    'id = 5',
    '`t`.`id` = 5',
    'ID = 5',
    'id > -1',
    'name is null',
    'active',
    'not active',
    '!active',
    'id in (1, 2)',
    'id not in (1, 2)',
  ],
  ...[
    'id between 1 and 9',
    "name like 'a%'",
    "name not like 'a'",
    'coalesce(active, false)',
    'id = 5 or id = 6',
    'id <> 5',
    'id & 1',
  ],
  ...[
    'case when id = 5 then true else false end',
    'if(id = 5, 1, 0)',
    'id in (select id from t where name is null)',
    'id in (select t_id from u)',
  ],
  ...[
    'exists (select 1 from u where u.t_id = t.id)',
    'exists (select 1 from u where t_id = id)',
    'id = (select max(t_id) from u)',
  ],
  ...[
    'not exists (select 1 from u where u.t_id = t.id)',
    'at < now() - interval 1 day',
    "date(at) = '2020-01-01'",
    "match(name) against ('x')",
  ],
  ...[
    "name collate utf8mb4_bin = 'x'",
    'id in (select id from (select id from t limit 5) x)',
    'id <=> null',
    "id = 5 and name = 'or 1'",
  ],
  ...[
    'a between 1 and 2 and b = 3',
    "name regexp '^a'",
    "json_extract(body, '$.a') = 1",
    "id = cast('5' as unsigned)",
    "binary name = 'x'",
  ],
];

describe('a condition of MySQL that selects', () => {
  it.each(restrictions)('is no finding: %s', async (where) => {
    expect(await hitsOf(`delete from t where ${where}`)).toEqual([]);
    expect(await hitsOf(`update t set name = 'x' where (${where}) and 1 = 1 order by id`)).toEqual([]);
  });

  it.each([
    'update t join u on t.id = u.id set t.a = 1 where u.b = 5',
    'update t join u using (id) set t.a = 1 where u.b = 5',
    'update t left join u on t.id = u.id set t.a = 1 where u.id is null',
    'update t x, u y set x.a = y.b where x.id = y.id',
    'update t join u set a = 1 where u.id = 5',
    'delete t from t join u on t.id = u.id where u.b = 5',
    'delete x from t as x join t as y on x.email = y.email where x.id > y.id',
    'delete from t where id = 5 order by id limit 1',
  ])('is no finding: %s', async (text) => {
    expect(await hitsOf(text)).toEqual([]);
  });
});

describe('any condition of MySQL (HD-22)', () => {
  const leaf = fc.constantFrom(...restrictions);
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc
        .tuple(tie('condition'), fc.constantFrom('and', 'or', '&&', '||'), tie('condition'))
        .map(([a, how, b]) => `(${a}) ${how} (${b})`),
      tie('condition').map((inner) => `not (${inner})`),
    ),
  }));

  it('is found once a truth is added by OR', async () => {
    const or = fc.constantFrom('or', '||', 'OR');
    await fc.assert(
      fc.asyncProperty(condition, or, fc.constantFrom(...truths), async (where, how, truth) => {
        expect(await hitsOf(`delete from t where ${where} ${how} ${truth}`)).toEqual(['no_where_delete']);
        expect(await hitsOf(`delete from t where (${truth}) ${how} ${where}`)).toEqual(['no_where_delete']);
      }),
      { numRuns: 300 },
    );
  });

  it('is no finding once a condition on a column is added by AND', async () => {
    await fc.assert(
      fc.asyncProperty(condition, leaf, async (where, more) => {
        expect(await hitsOf(`delete from t where (${where}) and (${more})`)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

it.each([
  ['case when a then ', '1', ' end'],
  ['', 'a', ' is null'],
  ['', 'a', ' + 1'],
  ['', 'a', ' like 1'],
  ['', 'a', ' = 1'],
  ['(', 'a', ')'],
])('is classified in time however often %j, %j, %j nest (SQ-7)', async (open, middle, close) => {
  for (const levels of [150, 5_000]) {
    const text = `delete from t where ${open.repeat(levels)}${middle}${close.repeat(levels)}`;
    const { verdict } = await sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });
    expect(['accepted', 'refused']).toContain(verdict);
  }
});
