import { chownSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { waitUntil } from '../lib/deadline.js';
import { type Child, lastLines, startChild, waitUntilReady } from './child.js';
import { holdsCluster, moveCluster, stayCluster } from './move-cluster.js';
import { freePort } from './ports.js';
import { type PostgresPlace, placePostgres } from './postgres-programs.js';

export interface PostgresOptions {
  /** Root of the clone; names the folder of DV-4. */
  clone: string;
  dataDir: string;
  /** Password of the superuser `postgres`; given to a new cluster, so keep it with the data. */
  password: string;
  logFile: string;
  /** False only in tests: a crash of the machine may lose data. */
  durable: boolean;
  signal?: AbortSignal;
  report?: (line: string) => void;
}

export interface PostgresServer {
  port: number;
  child: Child;
  /** Address of a database for the superuser, or for a role with its password. */
  url(database: string, role?: string, password?: string): string;
  stop(): Promise<void>;
}

const formerServerWaitMs = 60_000;

/** Starts PostgreSQL 18 on loopback and a free port, making the cluster when `dataDir` is new; resolves when it answers. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const place = placePostgres(options.clone, options.dataDir);
  if (place.movedTo !== null) {
    options.report?.(
      `PostgreSQL runs as user ${place.user?.name}, who cannot reach ${dirname(options.dataDir)}; what it needs is in ${place.movedTo}`,
    );
  }
  if (place.dataDir !== options.dataDir) {
    await waitForFormerServer(options.dataDir);
    if (await moveCluster(options.dataDir, place.dataDir, options.logFile))
      options.report?.(`its data were moved there from ${options.dataDir}`);
  } else stayCluster(options.dataDir);
  try {
    if (!holdsCluster(place.dataDir)) await makeCluster(place, options);
  } finally {
    rmSync(passwordFileOf(place), { force: true });
  }
  checkVersion(place.dataDir);
  await waitForFormerServer(place.dataDir);
  return launch(place, options, await freePort());
}

async function launch(place: PostgresPlace, options: PostgresOptions, port: number): Promise<PostgresServer> {
  const url = (database: string, role = 'postgres', password = options.password) =>
    `postgres://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  const child = startChild({
    name: 'PostgreSQL',
    file: join(place.bin, 'postgres'),
    args: ['-D', place.dataDir, '-p', String(port), ...settings(options.durable).flatMap((setting) => ['-c', setting])],
    logFile: options.logFile,
    deathSignal: 'SIGINT',
    user: place.user,
    cwd: place.dataDir,
    environment: cleanEnvironment(),
  });
  const stop = () => child.stop('SIGINT', 15_000);
  try {
    await waitUntilReady(child, () => answers(url('postgres')), options.signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, child, url, stop };
}

/**
 * Durable means that every acknowledged commit survives a crash. Nothing replicates from a development server, so the log is kept
 * minimal, and checkpoints are rare.
 */
function settings(durable: boolean): string[] {
  // A server that is killed and never started again must leave nothing in /dev/shm, so its pieces lie among its files.
  const passing = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'dynamic_shared_memory_type=mmap'];
  return [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'shared_buffers=128MB',
    'wal_level=minimal',
    'max_wal_senders=0',
    'max_wal_size=2GB',
    'checkpoint_timeout=15min',
    'jit=off',
    'log_min_messages=warning',
    ...(durable ? [] : passing),
  ];
}

const passwordFileOf = ({ dataDir }: PostgresPlace): string => `${dataDir}.password`;

/** Made beside its place and renamed, so that a cluster whose making was cut short is never started. */
async function makeCluster(place: PostgresPlace, options: PostgresOptions): Promise<void> {
  const unfinished = `${place.dataDir}.new`;
  const passwordFile = passwordFileOf(place);
  // Programs of a killed initdb may need a moment to notice.
  rmSync(unfinished, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  writeFileSync(passwordFile, options.password, { mode: 0o600 });
  if (place.user !== null) for (const path of [unfinished, passwordFile]) chownSync(path, place.user.uid, place.user.gid);
  const how = await initdb(place, options, unfinished, passwordFile);
  if (how !== null) throw new Error(`PostgreSQL could not make its files (${how}):\n${lastLines(options.logFile, 15)}`);
  renameSync(unfinished, place.dataDir);
}

/** How it failed, or null. */
async function initdb(
  place: PostgresPlace,
  options: PostgresOptions,
  folder: string,
  passwordFile: string,
): Promise<string | null> {
  const child = startChild({
    name: 'initdb',
    file: join(place.bin, 'initdb'),
    args: [
      `--pgdata=${folder}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(options.durable ? [] : ['--no-sync']),
    ],
    logFile: options.logFile,
    deathSignal: 'SIGKILL',
    user: place.user,
    cwd: '/',
    environment: cleanEnvironment(),
  });
  const stop = () => void child.stop('SIGKILL', 0);
  options.signal?.addEventListener('abort', stop, { once: true });
  const how = await child.exited;
  options.signal?.removeEventListener('abort', stop);
  options.signal?.throwIfAborted();
  return child.hasSucceeded() ? null : how;
}

function checkVersion(dataDir: string): void {
  const version = readFileSync(join(dataDir, 'PG_VERSION'), 'utf8').trim();
  if (version !== '18') throw new Error(`${dataDir} was made by PostgreSQL ${version}, this is 18; start with --reset`);
}

/** The server of a parent that was killed may still be writing its last checkpoint. */
async function waitForFormerServer(dataDir: string): Promise<void> {
  const hasEnded = () => formerServer(dataDir) === null;
  if (await waitUntil(hasEnded, { ms: formerServerWaitMs, everyMs: 50 })) return;
  throw new Error(`another PostgreSQL (process ${formerServer(dataDir)}) uses ${dataDir}; stop it and start again`);
}

/** The process id of a server that still runs on `dataDir`, or null. */
export function formerServer(dataDir: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8'), 10);
    process.kill(pid, 0);
    return process.platform !== 'linux' || readlinkSync(`/proc/${pid}/cwd`) === dataDir ? pid : null;
  } catch {
    return null;
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === '28P01')
      throw new Error('the password of the embedded PostgreSQL does not fit its data; start with --reset');
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Variables such as PGPORT or PGDATA must not steer our server. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PG')));
}
