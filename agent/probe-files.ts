import { closeSync, constants, fstatSync, futimesSync, lstatSync, mkdirSync, openSync, type Stats, unlinkSync } from 'node:fs';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/**
 * Makes an empty file, or sets its time to now. A link, a second name of another file, a pipe or somebody else's file in its place is left alone and
 * refused (HD-93): whoever may write into the folder must not have us make or touch files elsewhere.
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

/** Removes the file if it is there; what is not ours stays and is refused. */
export function removeOwn(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!isOwn(found)) throw foreign(path);
  unlinkSync(path);
}

const isOwn = (found: Stats) => found.isFile() && found.nlink === 1 && found.uid === (process.geteuid?.() ?? found.uid);

const foreign = (path: string) => Object.assign(new Error(`${path} is not a file of this process`), { code: 'EPERM' });

/** Makes the folder, for us alone, if it is missing in one that is there: a wrong path is not made. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
