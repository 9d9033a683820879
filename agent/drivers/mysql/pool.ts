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
  const idle = new IdleSessions();
  const giveBack = (session: MysqlSession, reusable: boolean) => {
    if (reusable) idle.keep(session);
    else session.close();
    permits.give();
  };
  return {
    async acquire(signal) {
      if (!(await permits.take(signal))) return null;
      try {
        return idle.take() ?? (await connect(options, nameCase, giveBack));
      } catch (error) {
        permits.give();
        throw error;
      }
    },
    open: () => connect(options, nameCase, (session) => session.close()),
    close: async () => idle.close(),
  };
}

/** The sessions that wait for their next job; each ends when it has waited for too long. */
class IdleSessions {
  readonly #timers = new Map<MysqlSession, NodeJS.Timeout>();
  #closed = false;

  keep(session: MysqlSession): void {
    if (this.#closed) session.close();
    else this.#timers.set(session, setTimeout(() => this.#drop(session), IDLE_MS).unref());
  }

  /** The one that worked last; null when none is left. Sessions that ended while idle are dropped. */
  take(): MysqlSession | null {
    for (const session of [...this.#timers.keys()].reverse()) {
      this.#forget(session);
      if (!session.lost) return session;
      session.close();
    }
    return null;
  }

  close(): void {
    this.#closed = true;
    for (const session of this.#timers.keys()) this.#drop(session);
  }

  #drop(session: MysqlSession): void {
    this.#forget(session);
    session.close();
  }

  #forget(session: MysqlSession): void {
    clearTimeout(this.#timers.get(session));
    this.#timers.delete(session);
  }
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
