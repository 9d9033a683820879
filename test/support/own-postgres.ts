import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Child, startChild } from '../../dev/child.js';
import { clone } from '../../dev/layout.js';
import { startPostgres } from '../../dev/postgres.js';
import { type PostgresPlace, placePostgres } from '../../dev/postgres-programs.js';
import { makeDataFolder } from './memory-folder.js';
import { eventually } from './processes.js';

/** A durable PostgreSQL for one test alone, which can be stopped, killed and started again on its port. */
export interface OwnPostgres {
  dataDir: string;
  /** Address of a database for the superuser. */
  url(database: string): string;
  /** Stops all of its processes without breaking a connection. */
  freeze(): void;
  thaw(): void;
  /** kill -9 of the server and all its processes. */
  kill(): Promise<void>;
  /** Ends its sessions and stops it in order. */
  stop(): Promise<void>;
  /** Starts it on the same port and data, with further settings from now on. It recovers from a crash. */
  start(...settings: string[]): Promise<void>;
  /** Starts it again if it has ended by itself, and answers whether it had. Resolves when it takes connections. */
  revive(): Promise<boolean>;
  close(): Promise<void>;
}

export interface OwnPostgresOptions {
  /** Where its data is; a new folder if absent. It is removed at the end. */
  folder?: string;
  /** Additions to its environment, from its second start on. */
  environment?: NodeJS.ProcessEnv;
}

export async function openOwnPostgres(options: OwnPostgresOptions = {}): Promise<OwnPostgres> {
  const folder = options.folder ?? makeDataFolder('svc-own-postgres-');
  const dataDir = join(folder, 'postgres');
  const logFile = join(folder, 'postgres.log');
  const { child, url } = await startPostgres({ clone, dataDir, password: 'test', logFile, durable: true });
  const place = placePostgres(clone, dataDir);
  const args = formerArguments(place.dataDir);
  return controlled({ folder, place, logFile, child, url, args, environment: options.environment ?? {} });
}

/** A cluster that exists, its files and how it is started. */
export interface Cluster {
  folder: string;
  place: PostgresPlace;
  logFile: string;
  /** Null before the first start. */
  child: Child | null;
  args: readonly string[];
  url(database: string): string;
  environment: NodeJS.ProcessEnv;
}

export function controlled(cluster: Cluster): OwnPostgres {
  const { place, logFile, url } = cluster;
  let { child, args } = cluster;
  let stopped: number[] = [];
  const signalAll = (name: NodeJS.Signals) => {
    for (const pid of stopped) signal(pid, name);
  };
  const freeze = () => {
    if (child === null || child.hasExited()) return;
    signal(child.pid, 'SIGSTOP');
    stopped = [child.pid, ...childrenOf(child.pid)];
    signalAll('SIGSTOP');
  };
  const kill = async () => {
    // Otherwise a backend says goodbye to its client when it notices that the server is gone.
    freeze();
    signalAll('SIGKILL');
    stopped = [];
    await child?.stop('SIGKILL', 5000);
  };
  const start = async (...settings: string[]) => {
    args = [...args, ...settings.flatMap((each) => ['-c', each])];
    await eventually(() => {
      child = startChild({
        name: 'PostgreSQL',
        file: join(place.bin, 'postgres'),
        args,
        logFile,
        deathSignal: 'SIGINT',
        user: place.user,
        cwd: place.dataDir,
        environment: { ...process.env, ...cluster.environment },
      });
      return Promise.race([child.exited.then(() => false), accepts(url('postgres'))]);
    }, 60_000);
  };
  return {
    dataDir: place.dataDir,
    url,
    freeze,
    thaw() {
      signalAll('SIGCONT');
      stopped = [];
    },
    kill,
    stop: async () => child?.stop('SIGINT', 60_000),
    start,
    async revive() {
      const hasEnded = () => child === null || child.hasExited();
      const isSettled = async () => hasEnded() || (await takesConnections(url('postgres')));
      await eventually(isSettled, 60_000).catch(({ message }: Error) => {
        throw new Error(`${message}; the end of its log:\n${readFileSync(logFile, 'utf8').slice(-3000)}`);
      });
      if (!hasEnded()) return false;
      await start();
      return true;
    },
    async close() {
      signalAll('SIGCONT');
      await kill();
      rmSync(cluster.folder, { recursive: true, force: true });
    },
  };
}

/** What PostgreSQL notes about its command line at each start. */
function formerArguments(dataDir: string): string[] {
  const line = readFileSync(join(dataDir, 'postmaster.opts'), 'utf8');
  return [...line.matchAll(/"([^"]*)"/g)].map(([, argument]) => argument!);
}

/** Resolves with true at the first accepted connection. */
async function accepts(url: string): Promise<true> {
  await eventually(() => takesConnections(url), 50_000);
  return true;
}

const takesConnections = (url: string) => asSuperuser(url, async () => true).catch(() => false);

/** Works with one connection to that database. */
export async function asSuperuser<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}
