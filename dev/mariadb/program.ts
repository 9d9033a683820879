import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { withLock } from '../with-lock.js';
import { type DebianOptions, debianRelease, unpackDebian } from './debian.js';

/** A MariaDB server program, not started yet. */
export interface MariadbProgram {
  /** The folder that holds `file` and `share`; null when they belong to the system. */
  root: string | null;
  /** The program `mariadbd`. */
  file: string;
  /** Its messages, character sets and system tables. */
  share: string;
  /** Folders of libraries that the system lacks. */
  libraries: string[];
}

const fetchWaitMs = 10 * 60_000;

/**
 * Finds `mariadbd` for tests (DV-12), first hit wins: the path, our cache, Debian's package (fetched into the cache). Otherwise
 * throws a one-sentence error that says what to install.
 */
export async function findMariadb(options: DebianOptions): Promise<MariadbProgram> {
  for (const folder of programFolders()) {
    const program = programIn(dirname(folder), join(folder, 'mariadbd'), null);
    if (program !== null) return program;
  }
  const release = debianRelease();
  if (release === null) throw new Error('no program mariadbd; install MariaDB 10.11 or newer, or set SVC_TEST_MYSQL_URL');
  const root = join(mariadbCache(), release);
  return cachedProgram(root) ?? (await fetchProgram(root, options));
}

/** The folders of PATH, and those beside them where systems keep servers: a user's PATH may lack these. */
function programFolders(): string[] {
  const named = (process.env.PATH ?? '').split(delimiter);
  const beside = named.flatMap((folder) => ['sbin', 'libexec'].map((name) => join(dirname(folder), name)));
  return [...new Set([...named, ...beside])];
}

/** `<cache>/svc/mariadb`, shared by all clones of the user. */
export function mariadbCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc', 'mariadb');
}

/** A program's environment: its own libraries first, no variables that configure MariaDB. */
export function environmentOf(program: MariadbProgram): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MYSQL|MARIADB|LD_)/.test(name));
  const libraries = program.libraries.length === 0 ? {} : { LD_LIBRARY_PATH: program.libraries.join(':') };
  return { ...Object.fromEntries(kept), ...libraries };
}

async function fetchProgram(root: string, options: DebianOptions): Promise<MariadbProgram> {
  const report = (line: string) => options.report(`MariaDB: ${line}`);
  const onWait = (holder: number) => report(`process ${holder} is fetching the program, waiting for it`);
  return withLock(`${root}.lock`, { waitMs: fetchWaitMs, signal: options.signal, onWait }, async () => {
    const made = cachedProgram(root);
    if (made !== null) return made;
    await unpackDebian('mariadb-server-core', null, root, { ...options, report }).catch((error: Error) => {
      options.signal.throwIfAborted();
      throw new Error(`no MariaDB (${error.message}); install mariadb-server-core, or set SVC_TEST_MYSQL_URL`);
    });
    const program = cachedProgram(root);
    if (program === null) throw new Error('the mariadbd of Debian does not run here; set SVC_TEST_MYSQL_URL');
    return program;
  });
}

const cachedProgram = (root: string): MariadbProgram | null =>
  programIn(join(root, 'usr'), join(root, 'usr/sbin/mariadbd'), root);

/** The program with its files under `prefix`; null when a file is missing or the program does not run. */
function programIn(prefix: string, file: string, root: string | null): MariadbProgram | null {
  if (!existsSync(file)) return null;
  const shares = ['mysql', 'mariadb', ''].map((name) => join(prefix, 'share', name));
  const share = shares.find((folder) => existsSync(join(folder, 'mysql_system_tables.sql')));
  const libraries = root === null ? [] : librariesOf(root);
  if (share === undefined) return null;
  const program = { root, file, share, libraries };
  const answer = spawnSync(file, ['--no-defaults', '--version'], { env: environmentOf(program), timeout: 10_000 });
  return answer.status === 0 ? program : null;
}

/** `lib` and `usr/lib`, and the processor's folder in each. */
function librariesOf(root: string): string[] {
  const folders = ['lib', 'usr/lib'].map((name) => join(root, name)).filter((folder) => existsSync(folder));
  return folders.flatMap((folder) => [
    folder,
    ...readdirSync(folder)
      .filter((name) => name.endsWith('-linux-gnu'))
      .map((name) => join(folder, name)),
  ]);
}
