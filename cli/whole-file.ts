import { randomBytes } from 'node:crypto';
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Writes the whole file or none, through one beside it, readable by its owner only. Without `replaces`, a file that is there already is EEXIST. */
export function writeWhole(path: string, content: string | Buffer, { replaces }: { replaces: boolean }): void {
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode: 0o600, flush: true });
    if (replaces) renameSync(temporary, path);
    else linkSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}
