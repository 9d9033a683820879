import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import { type Database, openDatabase } from '../db/client.js';
import { migrate } from '../db/migrate.js';
import { type Notifications, openNotifications } from '../db/notifications.js';
import { GatewayError } from '../domain/errors.js';
import { StartError } from './start-error.js';

export interface GatewayDatabase {
  database: Database;
  notifications: Notifications;
  close(): Promise<void>;
}

const retryMs = 500;

/**
 * Connects to the gateway's own Postgres, trying again for `database.start_wait_secs`, brings its schema up to date (OP-50) and begins to listen;
 * a `StartError` when that cannot be done.
 */
export async function openGatewayDatabase(
  config: Config,
  log: Logger,
  processName: 'server' | 'worker',
  signal: AbortSignal,
): Promise<GatewayDatabase> {
  const url = databaseUrl(config.database);
  const applicationName = `svc ${processName}`;
  const tell = (error: unknown) => log.error({ error: String(error) }, 'gateway database');
  let notifications: Notifications | null = null;
  const database = openDatabase({
    url,
    poolMax: config.database.poolMax,
    connectTimeoutMs: Math.min(config.database.connectTimeoutSecs, config.database.poolWaitSecs) * 1000,
    statementTimeoutMs: config.database.statementTimeoutSecs * 1000,
    applicationName,
    onWake: (topics) => notifications?.publish(topics),
    onPoolError: tell,
  });
  try {
    await waitUntilReachable(database, config.database.startWaitSecs, log, signal);
    await migrate(url).catch((error: unknown) => {
      throw new StartError(`the database schema cannot be brought up to date: ${firstLine(error)}`);
    });
  } catch (error) {
    await database.close();
    throw error;
  }
  const listening = openNotifications({ url, database, applicationName, onError: tell });
  notifications = listening;
  return {
    database,
    notifications: listening,
    close: async () => {
      await listening.close();
      await database.close();
    },
  };
}

/** The address with the verified TLS that a `ca_file` asks for. */
export function databaseUrl({ url, caFile }: Config['database']): string {
  if (caFile === null) return url;
  const verified = new URL(url);
  verified.searchParams.set('sslmode', 'verify-full');
  verified.searchParams.set('sslrootcert', caFile);
  return verified.href;
}

async function waitUntilReachable(database: Database, waitSecs: number, log: Logger, signal: AbortSignal): Promise<void> {
  const deadline = waitSecs === 0 ? Number.POSITIVE_INFINITY : performance.now() + waitSecs * 1000;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await database.query('select 1');
      return;
    } catch (error) {
      // Only an unreachable server may come up; a refused password stays refused.
      if (!(error instanceof GatewayError))
        throw new StartError(`the gateway database refuses the connection: ${firstLine(error)}`);
      if (performance.now() >= deadline) throw new StartError(`the gateway database was not reachable for ${waitSecs} s`);
      if (attempt === 1) log.warn({}, 'waiting for the gateway database');
    }
    await sleep(retryMs, undefined, { signal });
  }
}

/** What a database says, without the lines that quote statements. */
export const firstLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
