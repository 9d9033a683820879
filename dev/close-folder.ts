import { chmodSync, mkdirSync, statSync } from 'node:fs';

/**
 * Creates a folder that only its owner can enter; closes an existing one (HD-91). Throws for another user's folder, and for a
 * shared one such as /tmp.
 */
export function closeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform === 'win32') return;
  const { mode, uid } = statSync(folder);
  if ((mode & 0o077) === 0) return;
  if (uid !== process.getuid?.() && process.getuid?.() !== 0)
    throw new Error(`${folder} belongs to another user and others can enter it; give another folder with --data`);
  if ((mode & 0o1000) !== 0) throw new Error(`${folder} is shared by everybody; give a folder of its own with --data`);
  chmodSync(folder, 0o700);
}
