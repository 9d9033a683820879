import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createPostgresPool } from '../../agent/drivers/postgres/pool.js';
import { refusePooler } from '../../agent/drivers/postgres/pooler.js';
import type { PostgresSession } from '../../agent/drivers/postgres/session.js';
import { startFakeGateway } from '../support/fake-gateway.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTestAgent } from '../support/test-agent.js';
import { createTripwire } from '../support/tripwire.js';

let database: TestDatabase;
let pool: ReturnType<typeof createPostgresPool>;
let one: PostgresSession;
let other: PostgresSession;

beforeAll(async () => {
  database = await createEmptyDatabase();
  pool = createPostgresPool({ url: database.url, readOnly: false, max: 1, maxRowBytes: 1000, connectTimeoutMs: 10_000 });
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
  'standard_conforming_strings = off',
  'search_path = pg_temp',
  "client_encoding = 'LATIN1'",
])('section 10, HD-30: refuses sessions whose start options were dropped: %s', async (setting) => {
  await one.query(`set ${setting}`);
  await expect(one.checkSettings()).rejects.toThrow('a pooler drops the start options of sessions');
});

it('AP-15: a database that falls silent while it is looked at is connected anew', async () => {
  const wire = createTripwire();
  const gateway = await startFakeGateway();
  const silent = wire.next(({ bytes }) => bytes.includes('pg_backend_pid()::text'));
  const url = await wire.front('target', database.url);
  const agent = startTestAgent({ gateway, url, timings: { silentMs: 1500, reconnectMs: 10 } });
  const held = await silent;
  expect(await gateway.offer({ detail: 'select 1' }).result).toMatchObject({ success: true });
  held!.lose();
  agent.stop();
  await agent.exit;
  await Promise.all([gateway.close(), wire.close()]);
});
