import { readdirSync } from 'node:fs';
import { parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { refusal } from '../domain/errors.js';
import { sleep } from '../lib/sleep.js';
import { isRetryable, isUnreachable, sqlState } from './errors.js';

const folder = fileURLToPath(new URL('./migrations/', import.meta.url));

/** The schema version that this code was written for: the name of the newest file in `db/migrations`. The names begin with a number. */
export const schemaVersion = readdirSync(folder)
  .map((file) => parse(file).name)
  .reduce((newest, name) => (Number.parseInt(name, 10) > Number.parseInt(newest, 10) ? name : newest));

/**
 * A company sets such limits for roles or databases. A migration of large tables takes minutes, and so does waiting for the process that makes it.
 * Not every version of PostgreSQL has all of them.
 */
const noTimeLimits = `select set_config(name, '0', false) from pg_settings
  where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`;

export interface MigrateOptions {
  connectTimeoutMs?: number;
  /** Aborting breaks the connection and loses what is not committed. */
  signal?: AbortSignal;
  /** Called when another process is migrating, which may take long. */
  onWait?: () => void;
  /** Called each time that a migration did not get a lock, because a session holds one for long, such as a dump. */
  onLocked?: () => void;
}

/**
 * Migrates the gateway's database at `url` to `schemaVersion`. Processes that start together wait for each other (OP-50). Without a
 * connection it is 503, as for calls.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<void> {
  const { connectTimeoutMs = 10_000, signal, onWait } = options;
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs, keepAlive: true });
  let isLost = false;
  const onLost = () => {
    isLost = true;
  };
  client.on('error', onLost).on('end', onLost);
  const cut = () => (client as unknown as { connection: pg.Connection }).connection.stream.destroy();
  signal?.addEventListener('abort', cut, { once: true });
  try {
    await client.connect();
    await client.query(noTimeLimits);
    await lockSchema(client, onWait);
    await apply(client, options);
  } catch (error) {
    // The migration library wraps connection errors in its own words.
    throw isLost || isUnreachable(error) ? refusal('service.unavailable', 'the gateway database is not reachable') : error;
  } finally {
    signal?.removeEventListener('abort', cut);
    if (isLost) cut();
    else await client.end();
  }
}

/** The lock of node-pg-migrate, which older versions leave to it. */
const schemaLock = '7241865325823964';

/** Holds it until the connection ends. */
async function lockSchema(client: pg.Client, onWait: (() => void) | undefined): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${schemaLock}) as taken`);
  if (rows[0]?.taken) return;
  onWait?.();
  await client.query(`select pg_advisory_lock(${schemaLock})`);
}

/** Whoever comes after a migration that waits for a lock waits too, for 3 s at most (OP-70). */
const lockWaitMs = 1000;
const pauseMs = 3000;

/** A migration that does not get a lock is undone and made again later, so that the calls of processes that run go on meanwhile (OP-54). */
async function apply(client: pg.Client, { signal, onLocked }: MigrateOptions): Promise<void> {
  await client.query(`set lock_timeout = ${lockWaitMs}`);
  for (;;) {
    try {
      await runner({
        dbClient: client,
        dir: folder,
        migrationsTable: 'schema_migrations',
        direction: 'up',
        noLock: true,
        log: () => {},
      });
      return;
    } catch (error) {
      if (sqlState(error) !== '55P03' && !isRetryable(error)) throw error;
      await client.query('rollback');
      onLocked?.();
      await sleep(pauseMs, signal);
    }
  }
}
