import type pg from 'pg';
import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { databaseWithin, remainingMs } from './call-limit.js';
import type { Database, SingleWrite, Vouched } from './client.js';
import { isRetryable, isUnavailable, isUnreachable, unavailableIf } from './errors.js';
import { giveBack, openPool, type PoolOptions, takeConnection } from './pool.js';
import { run } from './prepared.js';
import { type Limited, noneOutgoing, present, transaction, type WriteOptions } from './transaction.js';
import { hasWritten } from './transaction-name.js';

export interface DatabaseOptions extends PoolOptions, WriteOptions {
  /** Limits the database work of one call, including the wait for a connection (OP-70). */
  callTimeoutMs?: number;
}

/** Connects on first use. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options);
  const callTimeoutMs = options.callTimeoutMs ?? 4000;
  const limited = <T>(work: (client: pg.PoolClient) => Promise<T>) => withClient(pool, remainingMs(callTimeoutMs), work);
  return {
    pool,
    get macs() {
      return present(options.macs);
    },
    outgoingOf: options.outgoingOf ?? noneOutgoing,
    query: (text, values) => limited((client) => run(client, text, values)),
    together: (work) => limited((client) => work(vouched(client, options.macs))),
    writeOnce: (write) => writeOnce(limited, write, options),
    transaction: (work) => transaction(limited, work, options),
    close: () => pool.end(),
  };
}

/** Connections that lost a read whose failure `work` did not pass on. */
const broken = new WeakSet<pg.Client>();

/** Each read fails as unavailable by itself: its failure may be seen when the work on the connection is over. */
function vouched(client: pg.Client, macs: ApprovalMacs | undefined): Vouched {
  return {
    query: async <Row extends object>(text: string, values?: readonly unknown[]) => {
      try {
        return await run<Row>(client, text, values);
      } catch (error) {
        if (isUnreachable(error)) broken.add(client);
        throw unavailableIf(error);
      }
    },
    get macs() {
      return present(macs);
    },
  };
}

async function withClient<T>(pool: pg.Pool, limitMs: number, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const deadline = performance.now() + limitMs;
  let client: pg.PoolClient;
  try {
    client = await takeConnection(pool, limitMs);
  } catch (error) {
    throw unavailableIf(error);
  }
  try {
    const result = await databaseWithin(work(client), Math.max(1, deadline - performance.now()));
    giveBack(client, broken.has(client));
    return result;
  } catch (error) {
    // A timed-out or broken connection never goes to the next caller.
    giveBack(client, isUnreachable(error) || broken.has(client));
    throw unavailableIf(error);
  }
}

async function writeOnce(
  limited: Limited,
  { text, values, topics, eventId }: SingleWrite,
  options: DatabaseOptions,
): Promise<boolean> {
  const write = (client: pg.PoolClient) => run<{ done: number }>(client, text, values);
  const done = await limited(write).then(
    ([row]) => row?.done === 1,
    async (error: unknown) => {
      if (isRetryable(error)) return false;
      if (!isUnavailable(error)) throw error;
      // The answer may be lost although the statement has committed.
      if (!(await limited((client) => hasWritten(client, eventId)))) throw error;
      return true;
    },
  );
  if (done && topics.length > 0) options.onWake?.([...topics]);
  return done;
}
