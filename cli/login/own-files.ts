import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { failure } from '../failure.js';

/** False when it is missing. A link, another's folder or one that others may enter is `config_error`. */
export function isOwnFolder(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  if (!stat.isDirectory()) throw failure('config_error', `${folder}: it must be a folder, not a link`, { hint: 'remove it' });
  refuseOthers(folder, stat, '700');
  return true;
}

/** What is checked is what is read: one opening, which follows no link and waits for nobody. */
export function readOwn(file: string): string | null {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    throw failure('config_error', `${file}: it is a link; logins are not read through links`, { hint: `rm ${file}` });
  let handle: number;
  try {
    handle = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw failure('config_error', `${file}: it is not a regular file`);
    refuseOthers(file, stat, '600');
    return readFileSync(handle, 'utf8');
  } finally {
    closeSync(handle);
  }
}

function refuseOthers(path: string, { mode, uid }: Stats, right: string): void {
  if (process.platform === 'win32') return;
  if (uid !== process.getuid?.())
    throw failure('config_error', `${path}: it belongs to another user, so no login is stored there`);
  if ((mode & 0o077) !== 0)
    throw failure('config_error', `${path}: other users can read or write it, so the login is not used`, {
      hint: `chmod ${right} ${path}; if somebody may have read it: svc logout, then svc login`,
    });
}
