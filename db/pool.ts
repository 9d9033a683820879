import pg from 'pg';
import { stopAfter } from '../lib/deadline.js';
import { readOnlyState } from './errors.js';
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
  // The same for a connection in use: its statements fail with the error, and its user releases it as broken.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
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
