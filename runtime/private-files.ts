import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file durably, with mode 0600. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Creates a private file if there is none. False if another process was faster; its file is then complete. */
export async function createPrivateFile(path: string, content: string): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  await writePrivateFile(temporary, content);
  try {
    // A link is made in one step and fails if the name is taken.
    await link(temporary, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Null if the file does not exist. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Does nothing if another process has already renamed the file. */
export async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

export async function isReadableByOthers(path: string): Promise<boolean> {
  return ((await stat(path)).mode & 0o077) !== 0;
}

/**
 * Creates a folder that only its owner can enter. An existing folder of this user is closed to others (HD-91). One that belongs to another
 * user or is shared, like /tmp, stays as it is.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const { mode, uid } = await stat(path);
  const isOurs = process.platform !== 'win32' && uid === process.getuid?.() && (mode & 0o1000) === 0;
  if (isOurs && (mode & 0o077) !== 0) await chmod(path, 0o700);
}

/** Makes new and renamed files in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export const codeOf = (error: unknown) => (error as { code?: unknown }).code;
