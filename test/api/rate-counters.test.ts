import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { deleteEndedWindows, reserveCalls } from '../../db/rate-windows.js';
import { memoryCounters, sharedCounters } from '../../runtime/rate-limits/counters.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let made: TestDatabase;
let databases: Database[];
beforeAll(async () => {
  made = await createTestDatabase();
  databases = Array.from({ length: 3 }, () => openTestDatabase(made.url, 3));
});
afterAll(async () => {
  await Promise.all((databases ?? []).map((database) => database.close()));
  await made?.drop();
});

/** A block that could not be had shows in what passes. One that is asked for ahead may still be under way when the pools close. */
const ignored = () => {};

/** Counters of as many processes, with windows of `windowMs`. */
const processes = (windowMs: number, asked = () => {}) =>
  databases.map((database) =>
    sharedCounters((key, amount) => {
      asked();
      return reserveCalls(database, key, amount, windowMs);
    }, ignored),
  );

const times = async <T>(count: number, act: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));

describe('counters of several processes on one Postgres', () => {
  it.each([1, 7, 300, 2000])('let exactly %d of more concurrent calls pass in a window (OP-I2, OP-34)', async (perWindow) => {
    const counters = processes(60_000);
    const limit = { kind: 'token', subject: `concurrent-${perWindow}`, perWindow } as const;
    // Each has calls enough for the whole window: with fewer, the quickest could end with calls of its block left over.
    const verdicts = await times(3 * (perWindow + 10), (n) => counters[n % 3]!.count(limit));
    expect(verdicts.filter(({ passes }) => passes)).toHaveLength(perWindow);
    expect(verdicts.filter(({ passes }) => !passes).every(({ remaining }) => remaining === 0)).toBe(true);
  });

  it('ask once for a block of calls, and once for all that come meanwhile', async () => {
    let asked = 0;
    const [one] = processes(60_000, () => {
      asked += 1;
    });
    const limit = { kind: 'address', subject: 'a', perWindow: 60_000 } as const;
    await times(100, () => one!.count(limit));
    for (let n = 0; n < 100; n += 1) await one!.count(limit);
    expect(asked).toBe(1);
    await times(5000, () => one!.count(limit));
    expect(asked).toBeLessThan(5200 / 500 + 3);
  });

  it('ask no more once a window is used up, and begin anew with the next', async () => {
    let asked = 0;
    const [one, other] = processes(2000, () => {
      asked += 1;
    });
    const limit = { kind: 'token', subject: 'ends', perWindow: 2 } as const;
    const count = async (counters = one!) => (await counters.count(limit)).passes;
    expect([await count(), await count(), await count(), await count(other)]).toEqual([true, true, false, false]);
    const before = asked;
    const refused = await one!.count(limit);
    expect([refused.passes, asked]).toEqual([false, before]);
    expect(refused.resetMs).toBeLessThanOrEqual(2000);
    await expect.poll(() => count(other)).toBe(true);
  });

  it('let every call pass while the store fails, without asking for each (OP-34)', async () => {
    let asked = 0;
    const failures: unknown[] = [];
    const broken = sharedCounters(
      async () => {
        asked += 1;
        throw new Error('away');
      },
      (error) => failures.push(error),
    );
    const limit = { kind: 'token', subject: 'x', perWindow: 1 } as const;
    const verdicts = await times(50, () => broken.count(limit));
    expect(verdicts.every(({ passes }) => passes)).toBe(true);
    expect([asked, failures.length]).toEqual([1, 1]);
  });

  it('begin anew when the clock of Postgres goes back while a window is open (OP-31)', async () => {
    const [database] = databases;
    await reserveCalls(database!, 'stepped', 7, 60_000);
    await database!.query(`update rate_windows set ends_at = ends_at + interval '1 day' where key = 'stepped'`);
    const { taken, leftMs } = await reserveCalls(database!, 'stepped', 1, 60_000);
    expect(taken).toBe(1);
    expect(leftMs).toBeLessThanOrEqual(60_001);
    expect((await reserveCalls(database!, 'stepped', 1, 60_000)).taken).toBe(2);
  });

  it('leave no row of a window that is over', async () => {
    const [database] = databases;
    await reserveCalls(database!, 'over', 1, 0);
    await reserveCalls(database!, 'open', 1, 60_000);
    while ((await deleteEndedWindows(database!, 1)) > 0);
    const rows = await database!.query<{ key: string }>(`select key from rate_windows where key in ('over', 'open')`);
    expect(rows.map(({ key }) => key)).toEqual(['open']);
  });
});

describe('counters of one process alone', () => {
  it('let exactly the limit pass, each key by itself', async () => {
    const counters = memoryCounters(ignored);
    const of = (subject: string, perWindow: number) => ({ kind: 'token', subject, perWindow }) as const;
    const verdicts = await times(20, () => counters.count(of('a', 12)));
    expect(verdicts.map(({ passes, remaining }) => [passes, remaining])).toEqual(
      Array.from({ length: 20 }, (_, n) => [n < 12, Math.max(0, 11 - n)]),
    );
    expect((await counters.count(of('b', 12))).passes).toBe(true);
  });
});
