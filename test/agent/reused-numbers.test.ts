import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelStatement, waitUntilGone } from '../../agent/drivers/cancel.js';
import type { Target } from '../../agent/drivers/engine.js';
import { mysqlEngine } from '../../agent/drivers/mysql/engine.js';
import { createMysqlPool } from '../../agent/drivers/mysql/pool.js';
import type { MysqlSession } from '../../agent/drivers/mysql/session.js';
import { postgresEngine } from '../../agent/drivers/postgres/engine.js';
import { createPostgresPool } from '../../agent/drivers/postgres/pool.js';
import type { Session } from '../../agent/drivers/session.js';
import { defaultTimings } from '../../agent/timings.js';
import { createMysqlDatabase } from '../support/mysql.js';
import { openOwnMariadb } from '../support/own-mariadb.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';

const options = { readOnly: false, max: 5, maxRowBytes: 1e6, connectTimeoutMs: 10_000 };
const timings = { ...defaultTimings, cancelRepeatMs: 20, cancelTerminateMs: 60, commitProbeEveryMs: 20 };

/** Cancels a session that has ended while another one, which has its number now, runs a statement; tells what that one answered. */
async function cancelBeside<S extends Session>(ended: S, other: S, sleep: string, target: Target<S>): Promise<unknown> {
  const over = new AbortController();
  const cancelling = cancelStatement(ended, target, over.signal);
  const rows = await other.query(sleep).finally(() => over.abort());
  await cancelling;
  return rows;
}

const soon = () => performance.now() + 20_000;

const server = await openOwnMariadb(import.meta.url);

describe.skipIf(server === null)('a MySQL session whose number another one has after a restart of the server', () => {
  let pool: ReturnType<typeof createMysqlPool>;
  let target: Target<MysqlSession>;
  let ended: MysqlSession;
  let other: MysqlSession;
  beforeAll(async () => {
    const { url } = await createMysqlDatabase(server!.url());
    pool = createMysqlPool({ ...options, url });
    target = { pool, timings, engine: mysqlEngine, graceMs: 0 };
    for (let used = 0; used < 30; used++) await (await pool.open()).release();
    ended = await pool.open();
    await server!.child.stop('SIGTERM', 15_000);
    await server!.startAgain();
    other = await pool.open();
    while (Number(other.thread.id) < Number(ended.thread.id)) {
      await other.release();
      other = await pool.open();
    }
    expect(other.thread.id).toBe(ended.thread.id);
  }, 120_000);
  afterAll(async () => {
    await other?.release();
    await pool?.close();
    await server?.stop();
  });

  it('AP-42: is not cancelled in place of the one that has ended', async () => {
    expect(await cancelBeside(ended, other, 'select sleep(0.5)', target)).toEqual([['0']]);
  });

  it('AP-43: is not taken for the one that has ended, nor ended for it', async () => {
    expect(await waitUntilGone(ended, target, soon())).toBe(true);
    expect(await other.query('select 1')).toEqual([['1']]);
  });

  it('AP-42, AP-43: the one that is meant is ended', async () => {
    const meant = await pool.open();
    const running = expect(meant.query('select sleep(60)')).rejects.toThrow();
    expect(await waitUntilGone(meant, target, soon())).toBe(true);
    await running;
  });
});

describe('a PostgreSQL session whose number another one has', () => {
  let database: TestDatabase;
  let pool: ReturnType<typeof createPostgresPool>;
  beforeAll(async () => {
    database = await createEmptyDatabase();
    pool = createPostgresPool({ ...options, url: database.url });
  });
  afterAll(async () => {
    await pool?.close();
    await database?.drop();
  });

  it('AP-42, AP-43: is not cancelled or ended for the one that has ended, which is known to be gone', async () => {
    // The cancel request of the protocol carries a secret; what is sent by number is looked at here.
    const { interrupt: _, ...engine } = postgresEngine;
    const target = { pool, timings, engine, graceMs: 0 };
    const [ended, other] = [await pool.open(), await pool.open()];
    await ended.release();
    // Only the kernel can give a number again; so it is told that it was.
    ended.backend.pid = other.backend.pid;
    expect(await cancelBeside(ended, other, 'select pg_sleep(0.5)', target)).toEqual([['']]);
    expect(await waitUntilGone(ended, target, soon())).toBe(true);
    expect(await other.query('select 1')).toEqual([['1']]);

    const running = expect(other.query('select pg_sleep(60)')).rejects.toThrow();
    expect(await waitUntilGone(other, target, soon())).toBe(true);
    await running;
  });
});
