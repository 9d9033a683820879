import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { temporalVersion } from './version.js';

/**
 * Our own copy of the program: `<cache>/svc/temporal/<version>/temporal`, shared by all clones of the user, with its sum beside
 * it.
 */
export interface Cache {
  file: string;
  sumFile: string;
  /** Whether, before opening, nobody else could have written to it. */
  wasClosed: boolean;
}

/** Creates the cache folders, for their owner alone; throws when one of them belongs to another user (HD-92). */
export function openCache(environment: Record<string, string | undefined>): Cache {
  const base = environment.XDG_CACHE_HOME || join(homedir(), '.cache');
  mkdirSync(base, { recursive: true });
  const shared = join(base, 'svc');
  const own = join(shared, 'temporal');
  const folder = join(own, temporalVersion.cli);
  // Another user runs MariaDB from `svc`, so that folder stays readable.
  let wasClosed = isClosed(statSync(base));
  wasClosed = takeFolder(shared, wasClosed, (mode) => mode & ~0o022);
  wasClosed = takeFolder(own, wasClosed, () => 0o700);
  wasClosed = takeFolder(folder, wasClosed, () => 0o700);
  return { file: join(folder, 'temporal'), sumFile: join(folder, 'temporal.sha256'), wasClosed };
}

/**
 * Whether the cached program is the one that was put there. Earlier versions recorded no sum; their program counts if nobody else
 * could have written it. Removes a program that does not count.
 */
export async function hasProgram(cache: Cache, report: (line: string) => void): Promise<boolean> {
  const stat = lstatSync(cache.file, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  const isOwn = stat.isFile() && isOurs(stat.uid) && (process.platform === 'win32' || (stat.mode & 0o022) === 0);
  if (isOwn && !existsSync(cache.sumFile) && cache.wasClosed) await noteSum(cache);
  if (isOwn && existsSync(cache.sumFile) && (await sumOf(cache.file)) === readFileSync(cache.sumFile, 'utf8').trim()) return true;
  report(`Temporal: ${cache.file} is not the program that was put there; it is removed and made anew`);
  rmSync(cache.file, { recursive: true, force: true });
  rmSync(cache.sumFile, { recursive: true, force: true });
  return false;
}

/** Records the program's checksum; call it right after creating the program. */
export async function noteSum(cache: Cache): Promise<void> {
  const unfinished = `${cache.sumFile}.${process.pid}`;
  writeFileSync(unfinished, `${await sumOf(cache.file)}\n`, { mode: 0o600 });
  renameSync(unfinished, cache.sumFile);
}

async function sumOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/**
 * Applies `wanted` to the folder's mode; returns whether nobody else could write to it or its parent before. Follows a link only
 * if nobody but its owner could have created it.
 */
function takeFolder(folder: string, wasParentClosed: boolean, wanted: (mode: number) => number): boolean {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = wasParentClosed ? statSync(folder) : lstatSync(folder);
  if (!stat.isDirectory() || !isOurs(stat.uid))
    throw new Error(
      `${folder} is no folder of yours, so no program is run from it; remove it, or set XDG_CACHE_HOME to another place`,
    );
  const mode = stat.mode & 0o777;
  if (process.platform !== 'win32' && mode !== wanted(mode)) chmodSync(folder, wanted(mode));
  return wasParentClosed && isClosed(stat);
}

const isClosed = ({ mode }: Stats) => process.platform === 'win32' || (mode & 0o022) === 0;
const isOurs = (uid: number) => process.getuid === undefined || uid === process.getuid();
