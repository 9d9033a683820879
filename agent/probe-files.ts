import {
  closeSync,
  constants,
  fstatSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from 'node:fs';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * Creates an empty file, or sets its time to now. Refuses a symlink, a hard link, a pipe or another user's file in its place
 * (HD-93): whoever can write to the folder must not make us create or touch files elsewhere.
 */
export function touchOwn(path: string): void {
  const file = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    if (!isOwn(fstatSync(file))) throw foreign(path);
    const now = new Date();
    futimesSync(file, now, now);
  } finally {
    closeSync(file);
  }
}

/** Writes a file in one step. It takes the place of a symlink and never follows one. */
export function replaceOwn(path: string, text: string): void {
  const temporary = `${path}.tmp`;
  removeOwn(temporary);
  writeFileSync(temporary, text, { flag: 'wx', mode: 0o600 });
  renameSync(temporary, path);
}

/** The text of a file of this user; null if there is none, or if the file belongs to somebody else. */
export function readOwn(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ELOOP') return null;
    throw error;
  }
  try {
    return mayBeRead(fstatSync(file)) ? readFileSync(file, 'utf8') : null;
  } finally {
    closeSync(file);
  }
}

/** Removes the file if it exists; refuses a file that is not ours. */
export function removeOwn(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!isOwn(found)) throw foreign(path);
  unlinkSync(path);
}

const isOwn = (found: Stats) => found.isFile() && found.nlink === 1 && found.uid === (process.geteuid?.() ?? found.uid);

/** Root takes care of other users' processes. */
const mayBeRead = (found: Stats) => isOwn(found) || (process.geteuid?.() === 0 && found.isFile());

const foreign = (path: string) => Object.assign(new Error(`${path} is not a file of this process`), { code: 'EPERM' });

/** Creates the folder, for us alone, in an existing parent: a mistyped path is not created. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
