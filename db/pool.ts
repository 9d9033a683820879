import pg from 'pg';
import { stopAfter } from '../lib/deadline.js';
import { databaseWithin } from './call-limit.js';
import { noneToSpareState, readOnlyState, sqlState } from './errors.js';
import { run } from './prepared.js';
import { isReadOnly } from './read-only.js';
import { rowTypes } from './row-types.js';

export interface PoolOptions {
  url: string;
  poolMax: number;
  connectTimeoutMs: number;
  statementTimeoutMs: number;
  applicationName: string;
  onPoolError?: (error: Error) => void;
}

const probeAfterMs = 30_000;
/** So many stay however quiet it is: a call takes one or two. The others are closed after 10 s, for the memory that each takes in PostgreSQL. */
const keptConnections = 4;
/** How long a pool makes do with the connections that it has before it tries for another. */
const makeDoMs = 1000;
/** How many connections a pool has; one that is being made is none yet. */
const connected = new WeakMap<pg.Pool, number>();

/** Settings of every session of the gateway, the listener's included (OP-70). */
export function sessionOptions(statementTimeoutMs: number): string {
  return [
    `statement_timeout=${statementTimeoutMs}`,
    'lock_timeout=3000',
    'idle_in_transaction_session_timeout=5000',
    'TimeZone=UTC',
    // Both cost more than they save: a prepared statement is planned for a third of a large table where it reads a few rows.
    'jit=off',
    'max_parallel_workers_per_gather=0',
  ]
    .map((setting) => `-c ${setting}`)
    .join(' ');
}

/** Opens a pool that connects on first use. */
export function openPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolMax,
    connectionTimeoutMillis: options.connectTimeoutMs,
    options: sessionOptions(options.statementTimeoutMs),
    application_name: options.applicationName,
    keepAlive: true,
    // Without probes a firewall forgets an idle connection, or its server is gone, and the next call finds out by its deadline.
    keepAliveInitialDelayMillis: probeAfterMs,
    // A new connection costs its first callers more than their work: a handshake with a derived key, and every statement is parsed and planned anew.
    min: keptConnections,
    // Statements of a transaction that do not depend on each other share a round trip.
    pipeline: true,
    types: rowTypes,
    // Not by `verify`: the pool would lose the connection for good if its caller gave up during the check.
    onConnect: (client) => refuseReadOnly(client as pg.PoolClient, options.connectTimeoutMs),
  });
  // The pool replaces an idle connection that breaks. Without a listener, Node would end the process.
  pool.on('error', (error) => options.onPoolError?.(error));
  const count = (by: number) => connected.set(pool, (connected.get(pool) ?? 0) + by);
  pool.on('connect', (client) => {
    count(1);
    // The same for a connection in use: its statements fail with the error, and its user releases it as broken.
    client.on('error', () => {});
  });
  pool.on('remove', () => count(-1));
  return pool;
}

/** A connection within `ms`. Where PostgreSQL has none to spare, one of the pool's own is waited for. */
export async function takeConnection(pool: pg.Pool, ms: number): Promise<pg.PoolClient> {
  const until = performance.now() + ms;
  let refusal: unknown;
  for (;;) {
    try {
      return await databaseWithin(pool.connect(), Math.max(1, until - performance.now()), (late) => late.release());
    } catch (error) {
      // It says more than that the time is over.
      if (sqlState(error) !== noneToSpareState) throw refusal ?? error;
      if (!makeDo(pool) || performance.now() >= until) throw error;
      refusal = error;
    }
  }
}

/** Lets callers wait for the connections that the pool has. False if it has none. */
function makeDo(pool: pg.Pool): boolean {
  const { max } = pool.options;
  const has = connected.get(pool) ?? 0;
  if (has > 0 && has < max) {
    pool.options.max = has;
    const again = () => {
      pool.options.max = Math.max(pool.options.max, max);
    };
    setTimeout(again, makeDoMs).unref();
  }
  return has > 0;
}

/** Ends the use of a connection. One that is lost is closed at once: the driver alone would close it when its statements have ended, if ever. */
export function giveBack(client: pg.PoolClient, isLost: boolean): void {
  if (isLost) client.connection.stream.destroy();
  client.release(isLost);
}

/**
 * A standby answers reads with what it has, which may lack commits that were acknowledged, and no server that can only be read takes a change: it counts
 * as unreachable until it takes writes (HT-112). So does a server that does not answer within `ms`.
 */
async function refuseReadOnly(client: pg.PoolClient, ms: number): Promise<void> {
  const ask = () => isReadOnly({ query: (text) => run(client, text) });
  if (await stopAfter(ms, () => client.connection.stream.destroy(), ask))
    throw Object.assign(new Error('the server can only be read'), { code: readOnlyState });
}
