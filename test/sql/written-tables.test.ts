import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let client: pg.Client;
let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
  ({ database, client } = await connectEmptyDatabase());
  for (const schema of ['one', 'two']) await client.query(`create schema ${schema}; create table ${schema}.t (id int, a int)`);
  await client.query('insert into one.t values (1, 1), (2, 2), (3, 3); insert into two.t values (5, 1)');
});
afterAll(async () => {
  await sql.close();
  await client.end();
  await database.drop();
});

async function hitsOf(text: string): Promise<readonly string[]> {
  const verdict = await sql.classify(text, { dialect: 'postgresql', statementTimeoutSecs: 30 });
  if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
  return verdict.facts.flatMap(({ hits }) => hits);
}

/** How many of the three rows of `one.t` a text changes. */
async function changedBy(text: string): Promise<number> {
  await client.query('begin; set local search_path = one');
  try {
    await client.query(text);
    const { rows } = await client.query('select 3 - count(*)::int as changed from one.t where a <> 7');
    return rows[0].changed;
  } finally {
    await client.query('rollback');
  }
}

describe('HD-22: tables of one name in two schemas', () => {
  it.each([
    ['delete from one.t using two.t where two.t.id = 5', 'no_where_delete'],
    ['delete from t using two.t where two.t.id = 5', 'no_where_delete'],
    ['update one.t set a = 7 from two.t where two.t.id = 5', 'no_where_update'],
    ['update one.t set a = 7 from (values (1)) v join two.t on true where two.t.id = 5', 'no_where_update'],
  ])('every row is changed by %s', async (text, hit) => {
    expect(await changedBy(text)).toBe(3);
    expect(await hitsOf(text)).toEqual([hit]);
  });

  it.each([
    'delete from one.t using two.t where one.t.id = two.t.a',
    'delete from t using two.t where one.t.id = two.t.a and two.t.id = 5',
    'update one.t set a = 7 from two.t where one.t.id = 1 and two.t.id = 5',
    'delete from t where one.t.id = 1',
  ])('one row is changed by %s', async (text) => {
    expect(await changedBy(text)).toBe(1);
    expect(await hitsOf(text)).toEqual([]);
  });
});
