import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import type { Database } from '../../db/client.js';
import { PreparedQuery } from '../../db/prepared-query.js';
import { rowTypes } from '../../db/row-types.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let test: TestDatabase;
let database: Database;
beforeAll(async () => {
  test = await createTestDatabase();
  database = openTestDatabase(test.url, 1);
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(async () => {
  await database?.close();
  await test?.drop();
});

/** What the driver alone finds. */
const plain = async (text: string, values: unknown[]) => (await database.pool.query(text, values)).rows;

/** A statement that is kept prepared, however many others have names. */
async function kept(name: string | undefined, text: string, values: unknown[]): Promise<object[]> {
  const client = await database.pool.connect();
  try {
    return await new Promise((resolve, reject) => {
      client.query(new PreparedQuery({ name, text, values }, (error, rows) => (error === null ? resolve(rows) : reject(error))));
    });
  } finally {
    client.release();
  }
}

const values = `select $1::text as text, 7::int8 as large, 7::int4 as small, 0.5::float8 as half, 1.50::numeric as price, true as yes,
  '{"a": [1]}'::jsonb as b, '[null]'::json as j, timestamptz '2026-05-01 09:15:30.482+02' as at, array[1, 2] as ids, '{a,null}'::text[] as names,
  'a0'::bytea as bytes, null::text as nothing, date '2026-05-01' as day`;

it.each([
  ['one row of each type', values, ['ä\n']],
  ['no value', values, [null]],
  ['many rows', 'select n, n::text as "order", $1::text as same from generate_series(1, 300) n', ['x']],
  ['no rows', 'select 1 as one where $1::text is null', ['x']],
  ['rows without columns', 'select from generate_series(1, 2) where $1::text is not null', ['x']],
  ['two columns of one name', 'select 1 as a, $1::text as a', ['last']],
])('finds what the driver finds, in the first call of a connection and in later ones: %s', async (_what, text, given) => {
  const expected = await plain(text, given);
  for (let call = 0; call < 3; call += 1) expect(await database.query(text, given)).toEqual(expected);
  expect(await kept(undefined, text, given)).toEqual(expected);
});

it('gives each of the calls that share a round trip its own rows, before the columns are known and after', async () => {
  const text = 'select $1::int as number, $2::text as letter';
  for (let round = 0; round < 2; round += 1) {
    const found = await database.together((db) =>
      Promise.all([1, 2, 3].map((number) => db.query(text, [number, 'abc'[number - 1]]))),
    );
    expect(found).toEqual([[{ number: 1, letter: 'a' }], [{ number: 2, letter: 'b' }], [{ number: 3, letter: 'c' }]]);
  }
});

it.each([
  ['one that is kept, once per connection', 'kept', 1],
  ['one that is not, each time', undefined, 3],
])('has PostgreSQL describe the columns of a statement: %s', async (_what, name, described) => {
  const text = 'select 1 as once, $1::text as text';
  const parsers = vi.spyOn(rowTypes, 'getTypeParser');
  for (const value of ['x', 'y', 'z']) expect(await kept(name, text, [value])).toEqual([{ once: 1, text: value }]);
  // Of its number: connections that the pool opens meanwhile are asked for texts.
  expect(parsers.mock.calls.filter(([oid]) => oid === pg.types.builtins.INT4)).toHaveLength(described);
});

it('goes on after a statement that fails, in its first call and in a later one', async () => {
  const text = 'select 1 / $1::int as share';
  for (const divisor of [0, 1, 0, 1]) {
    const call = database.query(text, [divisor]);
    if (divisor === 0) await expect(call).rejects.toMatchObject({ code: '22012' });
    else expect(await call).toEqual([{ share: 1 }]);
  }
});

it('goes on after a row that cannot be read', async () => {
  vi.spyOn(rowTypes, 'getTypeParser').mockReturnValue(() => {
    throw new Error('not readable');
  });
  const text = 'select $1::text as unreadable from generate_series(1, 3)';
  for (let call = 0; call < 2; call += 1) await expect(database.query(text, ['x'])).rejects.toThrow('not readable');
  vi.restoreAllMocks();
  expect(await database.query('select $1::text as readable', ['x'])).toEqual([{ readable: 'x' }]);
});

it('is told of columns that have changed, and never reads a row by the former ones', async () => {
  await database.pool.query('create table shapes (a int)');
  await database.pool.query('insert into shapes values (1)');
  const text = 'select * from shapes where a = $1';
  for (let call = 0; call < 2; call += 1) expect(await kept('shapes', text, [1])).toEqual([{ a: 1 }]);
  await database.pool.query('alter table shapes add column b int');
  await expect(kept('shapes', text, [1])).rejects.toMatchObject({ code: '0A000' });
});

it('writes, and tells how many by what it returns', async () => {
  await database.pool.query('create table written (a int)');
  const text = 'insert into written select generate_series(1, $1::int)';
  for (const count of [2, 3]) expect(await database.query(text, [count])).toEqual([]);
  expect(await database.query('select count(*)::int as count from written')).toEqual([{ count: 5 }]);
});
