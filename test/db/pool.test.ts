import { afterEach, expect, it, vi } from 'vitest';
import { createTestDatabase, openTestDatabase } from '../support/postgres.js';

afterEach(() => {
  vi.useRealTimers();
});

it('a peak of calls finds the connections of the one before; a quiet process keeps a few', async () => {
  const test = await createTestDatabase();
  const database = openTestDatabase(test.url, 6);
  // The pool's own clock: nothing is due while statements run.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const peak = () =>
    Promise.all(Array.from({ length: 6 }, () => database.query<{ pid: number }>('select pg_backend_pid() as pid')));
  try {
    const pids = (await peak()).flat().map(({ pid }) => pid);
    await vi.advanceTimersByTimeAsync(290_000);
    expect((await peak()).flat().every(({ pid }) => pids.includes(pid))).toBe(true);
    await vi.advanceTimersByTimeAsync(310_000);
    expect(database.pool.totalCount).toBe(4);
  } finally {
    vi.useRealTimers();
    await database.close();
    await test.drop();
  }
});
