import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import { approvalMacs } from '../crypto/approval-macs.js';
import type { Database } from '../db/client.js';
import { unreachable } from '../db/errors.js';
import { migrate, schemaVersion } from '../db/migrate.js';
import { callersChannel, workersChannel } from '../db/notification-batch.js';
import { type Notifications, openNotifications } from '../db/notifications.js';
import { openDatabase } from '../db/open-database.js';
import { breakingSince } from '../db/schema-version.js';
import { GatewayError } from '../domain/errors.js';
import { nothingOutgoing, type OutgoingOf } from '../domain/notifications/outgoing.js';
import { fileFault } from '../lib/file-fault.js';
import { sleep } from '../lib/sleep.js';
import { enterSecretKey } from './enter-secret-key.js';
import { makePrivateFolder } from './private-files.js';
import { loadSecretKey } from './secret-key.js';
import { StartError } from './start-error.js';
import { createPatientStart, type PatientStart } from './start-wait.js';
import { createTroubles, type Troubles } from './troubles.js';

export interface GatewayDatabase {
  database: Database;
  secretKey: Uint8Array;
  /** For the later steps of the start. */
  patiently: PatientStart;
  notifications: Notifications;
  troubles: Troubles;
  /** From now on, recorded events also send out what this says. */
  sendOutBy(outgoingOf: OutgoingOf): void;
  close(): Promise<void>;
}

const silenceCheckMs = 2000;

/**
 * Connects to the gateway's own Postgres, retrying for `database.start_wait_secs`, migrates its schema (OP-50) and starts listening. Throws
 * `StartError` if that fails.
 */
export async function openGatewayDatabase(
  config: Config,
  log: Logger,
  processName: 'server' | 'worker',
  signal: AbortSignal,
): Promise<GatewayDatabase> {
  const secretKey = await ownSecretKey(config, log);
  const patiently = createPatientStart(config.database.startWaitSecs, log, signal);
  const troubles = createTroubles(log);
  const settings = databaseSettings(config.database, `svc ${processName}`);
  const { url, applicationName } = settings;
  let notifications: Notifications | null = null;
  let outgoingOf: OutgoingOf = () => nothingOutgoing;
  const database = openDatabase({
    ...settings,
    macs: approvalMacs(secretKey),
    outgoingOf: (events, about) => outgoingOf(events, about),
    onWake: (topics) => notifications?.publish(topics),
    onPoolError: (error) => log.warn({ error: String(error) }, 'an idle connection to the gateway database is lost'),
  });
  await prepare({ database, secretKey, patiently }, settings, log);
  const channels = [processName === 'worker' ? workersChannel : callersChannel] as const;
  const listening = openNotifications({ url, database, applicationName, channels, ...toldBy(log, troubles) });
  notifications = listening;
  return {
    database,
    secretKey,
    patiently,
    notifications: listening,
    troubles,
    sendOutBy: (next) => {
      outgoingOf = next;
    },
    close: async () => {
      await listening.close();
      await database.close();
    },
  };
}

const toldBy = (log: Logger, troubles: Troubles) => ({
  onError: (error: unknown) => log.error({ error: String(error) }, 'notifications are not sent'),
  // Whatever ended the listening connection, it is opened again.
  onLost: (error: unknown) => troubles.failed('notifications', unreachable(error), 'notifications are not received'),
  onListening: () => troubles.works('notifications'),
});

/** Closes the database if it throws. */
async function prepare(
  { database, secretKey, patiently }: Pick<GatewayDatabase, 'database' | 'secretKey' | 'patiently'>,
  settings: ReturnType<typeof databaseSettings>,
  log: Logger,
): Promise<void> {
  const told = new Set<string>();
  const tellOnce = (text: string) => () => {
    if (!told.has(text)) log.info({}, text);
    told.add(text);
  };
  const onWait = tellOnce('waiting for another process that brings the database schema up to date');
  const onLocked = tellOnce(
    'waiting for a long transaction on the gateway database, such as a dump, to bring its schema up to date',
  );
  try {
    await patiently(() => reach(database));
    await patiently(() => bringUpToDate(database, { ...settings, onWait, onLocked }));
    await patiently(() => enterSecretKey(database, secretKey, log));
  } catch (error) {
    await database.close();
    throw error;
  }
}

function databaseSettings(config: Config['database'], applicationName: string) {
  const { poolMax, connectTimeoutSecs, poolWaitSecs, statementTimeoutSecs } = config;
  return {
    url: databaseUrl(config),
    poolMax,
    connectTimeoutMs: Math.min(connectTimeoutSecs, poolWaitSecs) * 1000,
    statementTimeoutMs: statementTimeoutSecs * 1000,
    applicationName,
  };
}

/** Seals signing keys and authenticates approvals (HD-50). Server and worker need the same key. */
async function ownSecretKey(config: Config, log: Logger): Promise<Uint8Array> {
  await makePrivateFolder(config.stateDir).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'it is a file' : fileFault(error);
    throw new StartError(`state_dir: ${config.stateDir} cannot be created or used (${why})`);
  });
  return loadSecretKey(config.security, (text) => log.warn({}, text));
}

/** Adds verified TLS if there is a `ca_file`. */
export function databaseUrl({ url, caFile }: Config['database']): string {
  if (caFile === null) return url;
  const verified = new URL(url);
  verified.searchParams.set('sslmode', 'verify-full');
  verified.searchParams.set('sslrootcert', caFile);
  return verified.href;
}

/** Only an unreachable server, or one that can only be read, is worth a retry. A refused password is final. */
async function reach(database: Database): Promise<void> {
  await database.query('select 1').catch((error: unknown) => {
    throw error instanceof GatewayError
      ? error
      : new StartError(`the gateway database refuses the connection: ${firstLine(error)}`);
  });
}

/** A migration may take long, but if the server stops responding it is 503. */
async function bringUpToDate(
  database: Database,
  options: { url: string; connectTimeoutMs: number; onWait: () => void; onLocked: () => void },
): Promise<void> {
  const ended = new AbortController();
  const silent = untilSilent(database, ended.signal);
  silent.catch(() => {});
  try {
    await Promise.race([migrate(options.url, { ...options, signal: ended.signal }), silent]);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new StartError(`the database schema cannot be brought up to date: ${firstLine(error)}`);
  } finally {
    ended.abort();
  }
  const breaking = await breakingSince(database, schemaVersion);
  if (breaking === undefined) return;
  throw new StartError(
    `the database schema is newer than this version, which cannot use it (${breaking}): start the newer version, or restore a backup`,
  );
}

async function untilSilent(database: Database, ended: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(silenceCheckMs, ended);
    ended.throwIfAborted();
    await database.query('select 1');
  }
}

/** The first line only: later lines of a database error may quote statements. */
export const firstLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
