import { expect, it } from 'vitest';
import { createPostgresPool } from '../../agent/drivers/postgres/pool.js';
import { startExchangeFaults } from '../support/exchange-faults.js';
import { connectEmptyDatabase } from '../support/postgres.js';

it('AP-84: a PostgreSQL server that falls silent while a connection is reset keeps no place in the pool', async () => {
  const { database, client } = await connectEmptyDatabase();
  const { url, proxy } = await startExchangeFaults(database.url);
  const pool = createPostgresPool({ url, readOnly: false, max: 1, maxRowBytes: 1024, connectTimeoutMs: 500 });
  const session = await pool.acquire();
  proxy.onClientData = (data) => (data.includes('discard all') ? 'hold' : 'pass');
  await session?.release();
  const next = await pool.acquire();
  expect(await next?.query('select 1')).toEqual([['1']]);
  await next?.release();
  await pool.close();
  await proxy.close();
  await client.end();
  await database.drop();
});
