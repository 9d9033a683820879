import type pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { asSuperuser } from '../support/own-postgres.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

const poolMax = 6;
const allowed = 2;
let test: TestDatabase;
let database: Database;
let held: pg.PoolClient[] = [];
beforeEach(async () => {
  test = await createTestDatabase();
  await allow(allowed);
});
afterEach(async () => {
  letGo();
  await database.close();
  await test.drop();
});

function open(callTimeoutMs: number): void {
  const options = { connectTimeoutMs: 60_000, statementTimeoutMs: 60_000, applicationName: 'test' };
  database = openDatabase({ url: test.url, poolMax, callTimeoutMs, ...options });
}

/** From now on PostgreSQL refuses further connections to the database with 53300. */
const allow = (connections: number) =>
  asSuperuser(test.adminUrl, (client) =>
    client.query(`alter database ${new URL(test.url).pathname.slice(1)} connection limit ${connections}`),
  );

/** Uses all connections that are allowed. */
async function holdAll(): Promise<void> {
  held = await Promise.all(Array.from({ length: allowed }, () => database.pool.connect()));
}

function letGo(): void {
  for (const client of held.splice(0)) client.release();
}

const pids = async (calls: number) => {
  const asked = Array.from({ length: calls }, () => database.query<{ pid: number }>('select pg_backend_pid() as pid'));
  return new Set((await Promise.all(asked)).map(([row]) => row!.pid));
};

it('a call waits for a connection of the pool where PostgreSQL has none to spare (OP-70)', async () => {
  open(60_000);
  await holdAll();
  const answered = pids(20).then(
    (used) => used.size,
    (error: Error) => error,
  );
  await expect.poll(() => database.pool.waitingCount, { timeout: 30_000 }).toBe(20);
  letGo();
  expect(await answered).toBeLessThanOrEqual(allowed);
});

it('it is refused when none gets free in time, and the log can say what PostgreSQL said (OP-70, HT-112)', async () => {
  open(3000);
  await holdAll();
  const refused = { code: 'service.unavailable', cause: { code: '53300' } };
  // Of several that wait at once, all have this cause.
  const ends = await Promise.allSettled([database.query('select 1'), database.query('select 1'), database.query('select 1')]);
  for (const end of ends) expect(end).toMatchObject({ status: 'rejected', reason: refused });
});

it('the pool grows again once PostgreSQL has connections to spare', async () => {
  open(60_000);
  await holdAll();
  const waiting = pids(poolMax);
  await expect.poll(() => database.pool.waitingCount, { timeout: 30_000 }).toBe(poolMax);
  await allow(50);
  letGo();
  await waiting;
  await expect.poll(async () => (await pids(poolMax)).size, { timeout: 30_000 }).toBe(poolMax);
});
