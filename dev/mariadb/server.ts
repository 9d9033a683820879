import { spawn } from 'node:child_process';
import { chownSync, cpSync, mkdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Child, startChild, waitUntilReady } from '../child.js';
import { freePort } from '../ports.js';
import { canReach, otherUser, type User } from '../postgres-programs.js';
import { environmentOf, type MariadbProgram } from './program.js';

export interface MariadbOptions {
  program: MariadbProgram;
  /** A new folder that every user may enter; the server's data go away when the caller removes it. */
  folder: string;
  /** The same for its data alone, which otherwise are there too. */
  dataFolder?: string;
  /** Options in addition to ours, without `--`. */
  settings?: readonly string[];
  signal?: AbortSignal;
}

export interface MariadbServer {
  port: number;
  readonly child: Child;
  /** The server's address for its superuser, or that of a database. */
  url(database?: string): string;
  /** Restarts it on the same port and data after its end. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

const filesWaitMs = 60_000;
const password = 'test';

/**
 * Creates the system tables and starts MariaDB on loopback and a free port. For tests only: a machine crash may lose data.
 * Resolves when it accepts connections. As root it runs as another user; programs out of that user's reach are copied.
 */
export async function startMariadb(options: MariadbOptions): Promise<MariadbServer> {
  const user = otherUser('MariaDB');
  const program = withinReach(options.program, user, options.folder);
  const dataDir = join(options.dataFolder ?? options.folder, 'data');
  for (const folder of [dataDir, temporaryFolder(dataDir)]) makeFolder(folder, user);
  await makeSystemTables(program, user, dataDir, options.signal);
  const port = await freePort();
  const own = [`port=${port}`, 'bind-address=127.0.0.1', 'socket=mysql.sock', 'skip-name-resolve', 'max-connections=200'];
  const launch = () =>
    startChild({
      name: 'MariaDB',
      file: program.file,
      logFile: join(options.folder, 'mariadb.log'),
      deathSignal: 'SIGKILL',
      user,
      args: argumentsOf(program, dataDir, [...own, ...(options.settings ?? [])]),
      cwd: dataDir,
      environment: environmentOf(program),
    });
  let child = launch();
  const untilReady = () => waitUntilReady(child, () => greets(port), options.signal);
  const stop = () => child.stop('SIGTERM', 15_000);
  await untilReady().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    port,
    get child() {
      return child;
    },
    url: (database = '') => `mysql://root:${password}@127.0.0.1:${port}/${database}`,
    startAgain: async () => {
      child = launch();
      await untilReady();
    },
    stop,
  };
}

function makeFolder(folder: string, user: User | null): void {
  mkdirSync(folder, { mode: 0o700 });
  if (user !== null) chownSync(folder, user.uid, user.gid);
}

const temporaryFolder = (dataDir: string): string => `${dataDir}.tmp`;

function argumentsOf(program: MariadbProgram, dataDir: string, settings: readonly string[]): string[] {
  const speed = ['innodb-flush-log-at-trx-commit=0', 'innodb-doublewrite=0', 'innodb-log-file-size=32M', 'sync-binlog=0'];
  const places = [
    `datadir=${dataDir}`,
    `tmpdir=${temporaryFolder(dataDir)}`,
    `lc-messages-dir=${program.share}`,
    `character-sets-dir=${join(program.share, 'charsets')}`,
  ];
  return ['--no-defaults', ...[...places, ...speed, 'innodb-buffer-pool-size=64M', ...settings].map((each) => `--${each}`)];
}

/** Copies programs from a folder that only root may enter: 50 MB. */
function withinReach(program: MariadbProgram, user: User | null, folder: string): MariadbProgram {
  const { root } = program;
  if (user === null || root === null || canReach(user, program.file)) return program;
  const copy = join(folder, 'programs');
  cpSync(root, copy, { recursive: true, verbatimSymlinks: true });
  const moved = (path: string) => join(copy, path.slice(root.length));
  return { root: copy, file: moved(program.file), share: moved(program.share), libraries: program.libraries.map(moved) };
}

/** The server reads them from a pipe and ends with it, even when this process is killed. */
async function makeSystemTables(
  program: MariadbProgram,
  user: User | null,
  dataDir: string,
  signal?: AbortSignal,
): Promise<void> {
  const files = ['mysql_system_tables', 'mysql_performance_tables', 'mysql_system_tables_data', 'maria_add_gis_sp_bootstrap'];
  const scripts = [...files, 'mysql_sys_schema'].map((name) => readFileSync(join(program.share, `${name}.sql`), 'utf8'));
  const text = ['create database mysql;', 'use mysql;', ...scripts, rootPassword].join('\n');
  const child = spawn(program.file, argumentsOf(program, dataDir, ['bootstrap']), {
    cwd: dataDir,
    env: environmentOf(program),
    stdio: ['pipe', 'ignore', 'pipe'],
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    signal: AbortSignal.any([AbortSignal.timeout(filesWaitMs), ...(signal === undefined ? [] : [signal])]),
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (log = (log + chunk).slice(-10_000)));
  child.stdin.on('error', () => {}).end(text);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`MariaDB could not make its files:\n${log.trimEnd().split('\n').slice(-15).join('\n')}`);
}

const rootPassword = `update mysql.global_priv set priv = json_set(priv, '$.plugin', 'mysql_native_password',
  '$.authentication_string', password('${password}')) where User = 'root' and Host = '127.0.0.1';\n`;

/** A ready server speaks first: its protocol number follows a header of four bytes. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(2000, () => done(false));
    socket.on('error', () => done(false)).once('data', (greeting) => done(greeting[4] === 10));
  });
}
