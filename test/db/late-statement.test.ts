import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../db/open-database.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let stored: TestDatabase;
beforeAll(async () => {
  stored = await createTestDatabase();
});
afterAll(() => stored.drop());

it('a stop does not wait for a statement whose caller has given it up (OP-62, OP-70)', { timeout: 20_000 }, async () => {
  const observer = openTestDatabase(stored.url);
  const limits = { connectTimeoutMs: 3000, statementTimeoutMs: 60_000, callTimeoutMs: 2000 };
  const database = openDatabase({ url: stored.url, poolMax: 2, applicationName: 'late', ...limits });
  const asked = expect(database.query('select pg_sleep(50)')).rejects.toMatchObject({ code: 'service.unavailable' });
  const active = () => observer.query(`select 1 from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'`);
  await expect.poll(active).toHaveLength(1);
  await database.close();
  await asked;
  await observer.close();
});
