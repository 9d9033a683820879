import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Child, startChild } from '../../dev/child.js';
import { clone } from '../../dev/layout.js';
import { startPostgres } from '../../dev/postgres.js';
import { placePostgres } from '../../dev/postgres-programs.js';
import { makeDataFolder } from './memory-folder.js';
import { eventually } from './processes.js';

/** A durable PostgreSQL for one test alone, which can be stopped, killed and started again on its port. */
export async function openOwnPostgres() {
  const folder = makeDataFolder('svc-own-postgres-');
  const dataDir = join(folder, 'postgres');
  const logFile = join(folder, 'postgres.log');
  const first = await startPostgres({ clone, dataDir, password: 'test', logFile, durable: true });
  const place = placePostgres(clone, dataDir);
  let child: Child = first.child;
  let stopped: number[] = [];
  const signalAll = (name: NodeJS.Signals) => {
    for (const pid of stopped) signal(pid, name);
  };
  const freeze = () => {
    signal(child.pid, 'SIGSTOP');
    stopped = [child.pid, ...childrenOf(child.pid)];
    signalAll('SIGSTOP');
  };
  const kill = async () => {
    // Otherwise a backend says goodbye to its client when it notices that the server is gone.
    freeze();
    signalAll('SIGKILL');
    stopped = [];
    await child.stop('SIGKILL', 5000);
  };
  return {
    dataDir: place.dataDir,
    /** Address of a database for the superuser. */
    url: (database: string) => first.url(database),
    /** Stops all of its processes without breaking a connection. */
    freeze,
    thaw() {
      signalAll('SIGCONT');
      stopped = [];
    },
    /** kill -9 of the server and all its processes. */
    kill,
    /** Starts it on the same port and data, with further settings from now on. It recovers from a crash. */
    async start(...settings: string[]) {
      const args = [...formerArguments(place.dataDir), ...settings.flatMap((each) => ['-c', each])];
      await eventually(() => {
        child = startChild({
          name: 'PostgreSQL',
          file: join(place.bin, 'postgres'),
          args,
          logFile,
          deathSignal: 'SIGINT',
          user: place.user,
          cwd: place.dataDir,
        });
        return Promise.race([child.exited.then(() => false), accepts(first.url('postgres'))]);
      }, 60_000);
    },
    async close() {
      signalAll('SIGCONT');
      await kill();
      rmSync(folder, { recursive: true, force: true });
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
  await eventually(async () => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
    client.on('error', () => {});
    const connected = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => {});
    return connected;
  }, 50_000);
  return true;
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
