import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database, Transaction } from '../../db/client.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let test: TestDatabase;
let database: Database;
beforeAll(async () => {
  test = await createTestDatabase();
  database = openTestDatabase(test.url, 2);
  await database.query(
    `create function fail(state text) returns int language plpgsql as $$ begin raise exception using errcode = state; end $$`,
  );
});
afterAll(async () => {
  await database?.close();
  await test?.drop();
});

const failing = (state: string) => `select fail('${state}')`;

/** Statements that travel together. The failure of the first is heard after that of the second, which only says that the transaction is aborted. */
const together = (tx: Transaction, text: string) =>
  Promise.all([Promise.all([Promise.all([tx.query(text)])]), tx.query('select 1')]);

/** A write whose rows nobody reads, and another one behind it. */
const behind = (tx: Transaction, text: string) => {
  tx.send(text);
  return tx.query('update users set id = id where false');
};

describe.each([
  ['together', together],
  ['behind a write', behind],
])('a statement that fails with others %s', (_, work) => {
  it('is told as what it is: a bug by its own error, a lock that was not free as 503 (HT-112)', async () => {
    const failed = (state: string) => database.transaction((tx) => work(tx, failing(state)));
    await expect(failed('22012')).rejects.toMatchObject({ code: '22012' });
    await expect(failed('55P03')).rejects.toMatchObject({ code: 'service.unavailable' });
  });

  it('lets the transaction run again after a deadlock', async () => {
    let attempts = 0;
    await database.transaction((tx) => {
      attempts += 1;
      return work(tx, attempts === 1 ? failing('40P01') : 'select 1');
    });
    expect(attempts).toBe(2);
  });
});
