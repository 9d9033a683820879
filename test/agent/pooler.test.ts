import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { refusePooler } from '../../agent/drivers/postgres/pooler.js';
import { createSessionPool, type PostgresSession } from '../../agent/drivers/postgres/session.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let pool: ReturnType<typeof createSessionPool>;
let one: PostgresSession;
let other: PostgresSession;

beforeAll(async () => {
  database = await createEmptyDatabase();
  pool = createSessionPool({ url: database.url, readOnly: false, max: 1, maxRowBytes: 1000, connectTimeoutMs: 10_000 });
});
beforeEach(async () => {
  [one, other] = await Promise.all([pool.open(), pool.open()]);
  return () => Promise.all([one.release(), other.release()]);
});
afterAll(async () => {
  await pool.close();
  await database.drop();
});

it('takes two sessions of the server for what they are, and leaves no transaction behind', async () => {
  await refusePooler(one, other);
  const ids = 'select pg_current_xact_id()';
  expect(await other.query(ids)).not.toEqual(await other.query(ids));
});

it('refuses an address where two connections are one session: nobody would be kept out by a lock', async () => {
  await expect(refusePooler(one, one)).rejects.toThrow('a pooler gives each transaction another session');
});

it('refuses an address where a connection comes to another session with its next transaction', async () => {
  const sessions = [one, other];
  const moving = { query: (sql: string) => sessions[0]!.query(sql).finally(() => sessions.reverse()) } as PostgresSession;
  const third = await pool.open();
  await expect(refusePooler(moving, third)).rejects.toThrow('a pooler gives each transaction another session');
  await third.release();
});

it.each([
  'intervalstyle = iso_8601',
  "timezone = 'Europe/Berlin'",
  "datestyle = 'German'",
  "bytea_output = 'escape'",
  'extra_float_digits = 0',
])('section 10: refuses sessions whose start options were dropped: %s', async (setting) => {
  await one.query(`set ${setting}`);
  await expect(refusePooler(one, other)).rejects.toThrow('a pooler drops the start options of sessions');
});
