import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPool } from '../../db/pool.js';
import { inSnapshot } from '../../db/snapshot.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

let stored: TestDatabase;
beforeAll(async () => {
  stored = await createTestDatabase();
});
afterAll(() => stored.drop());

it('a snapshot of a server that falls silent is given up, and its connection too (OP-70)', { timeout: 30_000 }, async () => {
  const limits = { connectTimeoutMs: 3000, statementTimeoutMs: 10_000 };
  const pool = openPool({ url: stored.url, poolMax: 1, applicationName: 'snapshot', ...limits });
  let backend = 0;
  const asked = inSnapshot(pool, 500, async (snapshot) => {
    const [row] = await snapshot.rows<{ pid: number }>('select pg_backend_pid() as pid');
    backend = row!.pid;
    process.kill(backend, 'SIGSTOP');
    return snapshot.rows('select 1');
  });
  try {
    await expect(asked).rejects.toMatchObject({ code: 'service.unavailable' });
    expect(await inSnapshot(pool, 500, (snapshot) => snapshot.rows('select 2 as two'))).toEqual([{ two: 2 }]);
  } finally {
    process.kill(backend, 'SIGCONT');
    await pool.end();
  }
});
