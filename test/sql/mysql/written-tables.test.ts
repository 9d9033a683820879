import type { RowDataPacket } from 'mysql2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../../sql/classify.js';
import { createMysqlDatabase, findMysql, type MysqlDatabase, withMysql } from '../../support/mysql.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';

const shared = await findMysql(import.meta.url);
const folding = shared && (await openOwnMariadb(import.meta.url, ['lower-case-table-names=1']));

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(async () => {
  await sql.close();
  await folding?.stop();
});

async function factsOf(text: string) {
  const verdict = await sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict.facts[0]!;
}

/** Every row of `one.t` is changed, because the condition is on no column of it, or holds for all. */
const changeAll = [
  'delete one.t from one.t join two.t where two.t.id = 5',
  'update one.t, two.t set one.t.a = 7 where two.t.id = 5',
  'delete from one.t where exists (select 1 from two.t where t.id = two.t.id)',
  'delete from t using (t, u) where u.id = 5',
  'delete from t using (t join u) where u.id = 5',
  'delete from t using t join (u) where u.id = 5',
];
const changeAllWhereCaseCounts = [
  'delete t from t join u as T where T.id = 5',
  'update t join u as T set t.a = 7 where T.id = 5',
  'update t, u T set t.a = 7 where T.a = 1 and T.id = 5',
];
const changeAllWhereItDoesNot = [
  'delete from t where id in (select id from T)',
  'delete from T where id in (select x.id from t x)',
  'update t join T x on t.id = x.id set t.a = 7 where t.id = x.id',
  'update T set a = 7 where id in (select ID from one.t)',
];
const changeSome = [
  'delete one.t from one.t join two.t where one.t.id = 1 and two.t.id = 5',
  'update one.t join two.t on one.t.id = two.t.a set one.t.a = 7 where two.t.id = 5',
  'delete from one.t where id in (select id from two.t)',
  'delete from one.t where exists (select 1 from two.t where two.t.a = one.t.id)',
  'delete from t using (t join u on t.id = u.a) where u.id = 5',
  'delete from t using t join u on t.id = u.a where u.id = 5',
  'update (t join u on t.id = u.a) set t.a = 7 where u.id = 5',
  'delete t from (t join (select 1 as id) d using (id)) join u where u.id = 5',
  'update t join (select t.id from t where a = 1) d on t.id = d.id set t.a = 7 where t.id = 1',
];
const changeSomeWhereCaseCounts = [
  'delete t from t join u as T where t.id = 1 and T.id = 5',
  'update t join u as T set t.a = 7 where t.id = 1',
];

it.each([...changeAll, ...changeAllWhereCaseCounts, ...changeAllWhereItDoesNot])(
  'HD-22: a write of every row is found, however tables and columns are named: %s',
  async (text) => {
    expect((await factsOf(text)).hits).toContain(text.startsWith('delete') ? 'no_where_delete' : 'no_where_update');
  },
);

it.each([...changeSome, ...changeSomeWhereCaseCounts])('HD-22: a write of some rows is no finding: %s', async (text) => {
  expect((await factsOf(text)).hits).toEqual([]);
});

it('SQ-81: the table that a DELETE writes is the one in the letters of its list', async () => {
  const named = async (text: string) => (await factsOf(text)).changed.map(({ name }) => name);
  expect(await named('delete t from t join u as T where t.id = 1')).toEqual(['t']);
  expect(await named('delete T from t join u as T where T.id = 1')).toEqual(['u']);
  expect(await named('delete X from t join u as x where x.id = 1')).toEqual(['u']);
});

describe.skipIf(shared === null)('HD-22: on a real server', () => {
  it.each([...changeAll, ...changeAllWhereCaseCounts])('every row is changed by %s', async (text) => {
    expect(await changedBy(shared!.url, text)).toBe(3);
  });

  it.each([...changeAll, ...changeAllWhereItDoesNot])('that folds names of tables, every row is changed by %s', async (text) => {
    expect(await changedBy(folding!.url(), text)).toBe(3);
  });

  it.each([...changeSome, ...changeSomeWhereCaseCounts])('some rows are changed by %s', async (text) => {
    expect(await changedBy(shared!.url, text)).toBeLessThan(2);
  });
});

/** How many of the three rows of `one.t` a text changes. */
async function changedBy(url: string, text: string): Promise<number> {
  const [one, two] = [await createMysqlDatabase(url), await createMysqlDatabase(url)];
  const drop = (database: MysqlDatabase) => database.drop();
  try {
    return await withMysql(one.adminUrl, async (connection) => {
      for (const sql of [
        'create table t (id int, a int)',
        'insert into t values (1, 1), (2, 2), (3, 3)',
        'create table u (id int, a int)',
        'insert into u values (5, 1)',
        `create table ${two.name}.t (id int, a int)`,
        `insert into ${two.name}.t values (5, 1)`,
        text.replaceAll('one.t', `${one.name}.t`).replaceAll('two.t', `${two.name}.t`),
      ])
        await connection.query(sql);
      const [rows] = await connection.query<RowDataPacket[]>('select count(*) as kept from t where a <> 7');
      return 3 - Number(rows[0]?.kept);
    });
  } finally {
    await drop(one);
    await drop(two);
  }
}
