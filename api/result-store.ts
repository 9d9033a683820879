import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { Logger } from 'pino';
import { sha256Hex } from '../crypto/hash.js';
import { GatewayError, refusal } from '../domain/errors.js';

/** Where result texts are kept. Keys are relative paths made by us; length and hash are compared by the reader (RS-36). */
export interface ResultStore {
  /** Durable when it answers; `length` in bytes of UTF-8, `sha256` of the same bytes. A key is written once: other text under it is 409 (RS-50). */
  put(key: string, text: string): Promise<{ sha256: string; length: number }>;
  /** null = nothing stored under the key. */
  get(key: string): Promise<Buffer | null>;
  /** Removing what is not there is no error. */
  remove(key: string): Promise<void>;
  /** Whether the store accepts a read (OP-10). */
  healthy(): Promise<boolean>;
}

/** 503 while the store refuses work, which the caller may then repeat (AG-48, RS-37); the log names the reason. */
export async function reachResults<T>(services: { log: Pick<Logger, 'error'> }, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    services.log.error({ error: String(error) }, 'result storage not reachable');
    throw refusal('service.unavailable', 'result storage is not reachable');
  }
}

/** Results as files below one directory that all processes share. */
export async function openLocalResultStore(rootDir: string): Promise<ResultStore> {
  await mkdir(rootDir, { recursive: true, mode: 0o700 });
  const pathOf = (key: string) => safePath(rootDir, key);
  return {
    put: (key, text) => write(pathOf(key), new TextEncoder().encode(text)),
    get: (key) => readFile(pathOf(key)).catch(ignoreMissing),
    remove: async (key) => {
      await rm(pathOf(key), { force: true });
    },
    healthy: async () =>
      stat(rootDir).then(
        (found) => found.isDirectory(),
        () => false,
      ),
  };
}

async function write(path: string, bytes: Uint8Array): Promise<{ sha256: string; length: number }> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path).catch((error: unknown) => sameAsStored(path, bytes, error));
  } finally {
    await rm(temporary, { force: true });
  }
  // Without this a crash of the machine can lose the name although the bytes are on disk.
  await syncDirectory(dirname(path));
  return { sha256: sha256Hex(bytes), length: bytes.length };
}

/** The key is taken: by the same text after a lost answer, or by another submission, which is then the one that counts. */
async function sameAsStored(path: string, bytes: Uint8Array, error: unknown): Promise<void> {
  if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  if (Buffer.compare(bytes, await readFile(path)) !== 0) throw refusal('execution.conflict', 'execution has its result already');
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function safePath(rootDir: string, key: string): string {
  const path = join(rootDir, key);
  if (!path.startsWith(rootDir.endsWith(sep) ? rootDir : rootDir + sep)) throw new Error('result key outside the store');
  return path;
}

function ignoreMissing(error: unknown): null {
  if ((error as { code?: unknown }).code === 'ENOENT') return null;
  throw error;
}
