import { randomBytes } from 'node:crypto';
import { appendFileSync, constants, copyFileSync, linkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

/**
 * Writes the whole file or none, through one beside it, readable by its owner only. Without `replaces`, a file that is there already is EEXIST. A stream is
 * written to and stays.
 */
export function writeWhole(path: string, content: string | Buffer, { replaces }: { replaces: boolean }): void {
  if (replaces && isStream(path)) {
    appendFileSync(path, content);
    return;
  }
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode: 0o600, flush: true });
    if (replaces) renameSync(temporary, path);
    else placeNew(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** A pipe, a device, or a file that a process has open, such as `/dev/stdout`. A file in its place would take it from everybody. */
export function isStream(path: string): boolean {
  if (/^\/(dev\/(stdout|stderr|fd\/)|proc\/)/.test(path)) return true;
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isFile() && !found.isDirectory();
}

function placeNew(temporary: string, path: string): void {
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (!hasNoLinks.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    // A process that is killed here leaves a part: without links nothing places a whole file only where none is.
    copyFileSync(temporary, path, constants.COPYFILE_EXCL);
  }
}

/** What file systems without hard links answer, such as exFAT and some of a network. */
const hasNoLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);
