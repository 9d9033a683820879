import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { sleep } from '../../lib/sleep.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.js';

const connectTimeoutMs = 2000;
const unavailable = { code: 'service.unavailable' };

let stored: TestDatabase;
let proxy: SwallowingProxy;
let database: Database;
beforeAll(async () => {
  stored = await createTestDatabase();
});
afterAll(() => stored.drop());
beforeEach(async () => {
  const url = new URL(stored.url);
  proxy = await startSwallowingProxy(Number(url.port));
  url.port = String(proxy.port);
  database = openDatabase({ url: url.href, poolMax: 1, connectTimeoutMs, statementTimeoutMs: 60_000, applicationName: 'lost' });
});
afterEach(() => proxy.close());

/** What the pool asks first on a new connection has this fate. */
function answerFirstQuestion(fate: number | 'hold'): void {
  proxy.onClientData = (data) => (data.includes('transaction_read_only') ? fate : 'pass');
}

/** A call waits for the pool's only connection, which breaks; so it gets a new one, but gives up before that one is checked. */
async function giveUpDuringCheck(): Promise<void> {
  const using = expect(database.query('select pg_sleep(10)')).rejects.toMatchObject(unavailable);
  await expect.poll(() => database.pool.totalCount - database.pool.idleCount).toBe(1);
  const waiting = expect(database.query('select 1')).rejects.toMatchObject(unavailable);
  await sleep(connectTimeoutMs / 4);
  proxy.cut();
  await Promise.all([using, waiting]);
}

it('a new connection whose caller gives up while it is checked goes to the next caller (OP-70)', async () => {
  await database.query('select 1');
  answerFirstQuestion(connectTimeoutMs * 0.9);
  await giveUpDuringCheck();
  expect(await database.query('select 2 as two')).toEqual([{ two: 2 }]);
  await database.close();
});

it('a new connection that never answers the check gives up its place, and a stop does not wait for it (OP-62, OP-70)', async () => {
  await database.query('select 1');
  answerFirstQuestion('hold');
  await giveUpDuringCheck();
  proxy.onClientData = null;
  await expect.poll(() => database.query('select 2 as two').catch(() => null)).toEqual([{ two: 2 }]);
  answerFirstQuestion('hold');
  await giveUpDuringCheck();
  await database.close();
});
