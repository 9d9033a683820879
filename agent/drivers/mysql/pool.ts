import { stopAfter } from '../../../lib/deadline.js';
import { createPermits } from '../../../lib/permits.js';
import { ConnectFailure } from '../driver.js';
import type { PoolOptions, SessionPool } from '../session.js';
import { connectMysql } from './client.js';
import { mysqlConnectFailure } from './errors.js';
import { createNameCase, type NameCase } from './fixed-settings.js';
import { MysqlSession } from './session.js';
import { readMysqlUrl } from './url.js';

const IDLE_MS = 300_000;

/** A pool of sessions with fixed parsing and output settings. */
export function createMysqlPool(options: PoolOptions): SessionPool<MysqlSession> {
  const permits = createPermits(options.max);
  const nameCase = createNameCase();
  const idle = new Map<MysqlSession, NodeJS.Timeout>();
  let closed = false;
  const drop = (session: MysqlSession) => {
    clearTimeout(idle.get(session));
    idle.delete(session);
    session.close();
  };
  const giveBack = (session: MysqlSession, reusable: boolean) => {
    if (reusable && !closed) idle.set(session, setTimeout(() => drop(session), IDLE_MS).unref());
    else session.close();
    permits.give();
  };
  /** Skips sessions that ended while idle. */
  const takeIdle = (): MysqlSession | null => {
    for (const [session, timer] of [...idle].reverse()) {
      clearTimeout(timer);
      idle.delete(session);
      if (!session.lost) return session;
      session.close();
    }
    return null;
  };
  return {
    async acquire(signal) {
      if (!(await permits.take(signal))) return null;
      try {
        return takeIdle() ?? (await connect(options, nameCase, giveBack));
      } catch (error) {
        permits.give();
        throw error;
      }
    },
    open: () => connect(options, nameCase, (session) => session.close()),
    async close() {
      closed = true;
      for (const session of idle.keys()) drop(session);
    },
  };
}

async function connect(
  { url, readOnly, maxRowBytes, connectTimeoutMs }: PoolOptions,
  nameCase: NameCase,
  giveBack: (session: MysqlSession, reusable: boolean) => void,
): Promise<MysqlSession> {
  const address = readMysqlUrl(url);
  if (typeof address === 'string') throw new ConnectFailure('connection', `the address ${address}`);
  let session: MysqlSession | null = null;
  try {
    const made = new MysqlSession(await connectMysql(address, maxRowBytes, connectTimeoutMs), giveBack);
    session = made;
    await stopAfter(
      connectTimeoutMs,
      () => made.destroy(),
      () => made.prepare({ readOnly, database: address.database, nameCase }),
    );
    return made;
  } catch (error) {
    session?.close();
    throw mysqlConnectFailure(error);
  }
}
