import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerWithin, leftToAnswerMs, limitDatabaseWork, outsideDatabaseWork } from '../../db/call-limit.js';
import type { Database } from '../../db/client.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

describe('the limit on database work of a call (OP-70)', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = openTestDatabase(test.url, 2);
    await database.query('select 1');
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  it('is shared by everything in the call', async () => {
    const call = limitDatabaseWork(300, async () => {
      await sleep(350);
      await database.query('select pg_sleep(0.2)');
    });
    await expect(call).rejects.toMatchObject({ code: 'service.unavailable' });
  });

  it('does not run while a long poll waits, so that its answer still has time (HT-103)', async () => {
    const call = limitDatabaseWork(2000, async () => {
      await outsideDatabaseWork(() => sleep(2100));
      return database.query('select pg_sleep(0.1)');
    });
    await expect(call).resolves.toHaveLength(1);
  });

  it('HT-131: ends with the time of the whole call, whatever a step of it may take', async () => {
    const slow = () => limitDatabaseWork(60_000, () => database.query('select pg_sleep(9)'));
    await expect(answerWithin(200, slow)).rejects.toMatchObject({ code: 'service.unavailable' });
    const other = () => outsideDatabaseWork(() => sleep(60_000, undefined, { ref: false }));
    await expect(answerWithin(200, other)).rejects.toMatchObject({ code: 'service.unavailable' });
    const both = async () => {
      await outsideDatabaseWork(() => sleep(100));
      return limitDatabaseWork(60_000, slow);
    };
    await expect(answerWithin(300, both)).rejects.toMatchObject({ code: 'service.unavailable' });
  });

  it('HT-131: tells what is left of it; a long poll has no such time', async () => {
    expect(leftToAnswerMs()).toBe(Number.POSITIVE_INFINITY);
    const left = await answerWithin(60_000, async () => limitDatabaseWork(10, async () => leftToAnswerMs()));
    expect(left > 10 && left <= 60_000).toBe(true);
  });

  it('HT-113: commits to disk what it acknowledges, also where the database would not', async () => {
    const sql = `select current_setting('synchronous_commit') as used`;
    expect(await database.query(sql)).toEqual([{ used: 'off' }]);
    expect(await database.transaction((tx) => tx.query(sql))).toEqual([{ used: 'on' }]);
  });

  it('starts no parallel workers, also where the planner would', async () => {
    const plan = (...settings: string[]) =>
      database.transaction(async (tx) => {
        for (const setting of ['debug_parallel_query = on', ...settings]) await tx.query(`set local ${setting}`);
        return JSON.stringify(await tx.query('explain select count(*) from requests'));
      });
    expect(await plan()).not.toContain('Gather');
    expect(await plan('max_parallel_workers_per_gather = 2')).toContain('Gather');
  });
});

describe('reads that travel together', () => {
  it('share a connection, and one that fails takes no other with it', async () => {
    const test = await createTestDatabase();
    const database = openTestDatabase(test.url, 2);
    try {
      const pid = 'select pg_backend_pid() as pid';
      const [first, failed, second] = await database.together((db) =>
        Promise.allSettled([db.query(pid), db.query('select 1 / 0'), db.query(pid)]),
      );
      expect(failed.status).toBe('rejected');
      expect(first).toMatchObject({ status: 'fulfilled', value: [{ pid: expect.any(Number) }] });
      expect(second).toEqual(first);
      expect(await database.query('select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      await database.close();
      await test.drop();
    }
  });
});
