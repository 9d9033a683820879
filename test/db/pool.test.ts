import { afterEach, expect, it, vi } from 'vitest';
import { createTestDatabase, openTestDatabase } from '../support/postgres.js';

afterEach(() => {
  vi.useRealTimers();
});

it('of the connections of a peak a few stay, however long nobody calls', async () => {
  const test = await createTestDatabase();
  const database = openTestDatabase(test.url, 6);
  // The pool's own clock: nothing is due while statements run.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const pidsOf = async (calls: number) => {
    const rows = await Promise.all(
      Array.from({ length: calls }, () => database.query<{ pid: number }>('select pg_backend_pid() as pid')),
    );
    return rows.flat().map(({ pid }) => pid);
  };
  try {
    const before = await pidsOf(6);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(database.pool.totalCount).toBe(4);
    expect((await pidsOf(4)).every((pid) => before.includes(pid))).toBe(true);
  } finally {
    vi.useRealTimers();
    await database.close();
    await test.drop();
  }
});
