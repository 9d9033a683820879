import { randomUUID } from 'node:crypto';
import { type FileHandle, link, mkdir, open, opendir, readFile, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { sha256Hex } from '../crypto/hash.js';
import { codeOf, syncFolder } from './private-files.js';
import { otherText, type PutObject, type ResultStore } from './result-store.js';

const readBytes = 256 * 1024;
/** Another process may remove a folder as empty while it is being created, or before it gets its first file. */
const folderTries = 100;

/** Results as files below one directory that all processes share. */
export async function openLocalResultStore(rootDir: string): Promise<ResultStore> {
  // Readiness reports a failure, and each write tries again.
  await mkdir(rootDir, { recursive: true, mode: 0o700 }).catch(() => {});
  const pathOf = (key: string) => safePath(rootDir, key);
  return {
    backend: 'local',
    put: (key, text) => put(rootDir, pathOf(key), text),
    read: async (key) => {
      const file = await open(pathOf(key)).catch(ignoreMissing);
      return file && chunks(file);
    },
    has: async (key) => (await stat(pathOf(key)).catch(ignoreMissing)) !== null,
    remove: (key) => remove(rootDir, pathOf(key)),
    objects: () => objects(rootDir),
    healthy: async () =>
      opendir(rootDir).then(
        (directory) => directory.close().then(() => true),
        () => false,
      ),
  };
}

async function put(rootDir: string, path: string, bytes: Uint8Array): Promise<PutObject> {
  const written = { sha256: sha256Hex(bytes), length: bytes.length };
  const folder = dirname(path);
  const temporary = `${path}.${randomUUID()}.tmp`;
  const { file, madeFolder } = await createIn(folder, temporary);
  let existed = false;
  try {
    await file.writeFile(bytes);
    await file.sync();
    existed = await linkOnce(temporary, path, bytes);
  } finally {
    await Promise.all([file.close(), unlink(temporary).catch(ignoreMissing)]);
  }
  // Otherwise a crash of the machine could lose the name although the bytes are on disk.
  await Promise.all([syncFolder(folder), madeFolder && syncFolder(rootDir)]);
  return { ...written, existed };
}

async function createIn(folder: string, path: string): Promise<{ file: FileHandle; madeFolder: boolean }> {
  for (let tried = 1; ; tried += 1) {
    try {
      const madeFolder = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
      return { file: await open(path, 'wx', 0o600), madeFolder };
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || tried >= folderTries) throw error;
    }
  }
}

/** True if the key already holds the same text, as after a lost answer. Another submission's text is a conflict. */
async function linkOnce(temporary: string, path: string, bytes: Uint8Array): Promise<boolean> {
  try {
    await link(temporary, path);
    return false;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  if (Buffer.compare(bytes, await readFile(path)) !== 0) throw otherText();
  return true;
}

async function* chunks(file: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    yield* file.createReadStream({ highWaterMark: readBytes, autoClose: false });
  } finally {
    await file.close();
  }
}

async function remove(rootDir: string, path: string): Promise<void> {
  await rm(path, { force: true });
  // A request's folder goes with its last result.
  if (dirname(path) !== rootDir) await rmdir(dirname(path)).catch(() => {});
}

async function* objects(rootDir: string): AsyncGenerator<{ key: string; modifiedAt: number }> {
  for await (const folder of await opendir(rootDir)) {
    if (!folder.isDirectory()) continue;
    const inside = await opendir(join(rootDir, folder.name)).catch(ignoreMissing);
    for await (const file of inside ?? []) {
      const found = await stat(join(rootDir, folder.name, file.name)).catch(ignoreMissing);
      if (found?.isFile()) yield { key: `${folder.name}/${file.name}`, modifiedAt: found.mtimeMs };
    }
  }
}

function safePath(rootDir: string, key: string): string {
  const path = join(rootDir, key);
  if (!path.startsWith(rootDir.endsWith(sep) ? rootDir : rootDir + sep)) throw new Error('result key outside the store');
  return path;
}

function ignoreMissing(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}
