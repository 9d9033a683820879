import { randomBytes } from 'node:crypto';
import type { Config } from '../config/types.js';
import { keyOf } from '../crypto/key-text.js';
import { fileFault } from '../lib/file-fault.js';
import { createPrivateFile, isReadableByOthers, readIfThere } from './private-files.js';
import { StartError } from './start-error.js';

/**
 * The 32-byte key that seals signing keys (ET-21 to ET-22): from the environment, from the named file, or from the default file, which is
 * created if missing.
 */
export async function loadSecretKey(security: Config['security'], warn: (text: string) => void): Promise<Uint8Array> {
  if (security.secretKey !== null) return parseKey(security.secretKey, 'SVC_SECRET_KEY');
  const path = security.secretKeyFile;
  const text = await readKeyFile(path);
  if (text === null && security.secretKeyFileNamed) throw new StartError(`security.secret_key_file: ${path} does not exist`);
  if (text === null && (await createKeyFile(path)))
    warn(`made ${path}: only processes that share this file can start, and without it the signing keys are lost`);
  if (await isReadableByOthers(path)) throw new StartError(`${path}: the secret key is readable by others (chmod 600 ${path})`);
  return parseKey(text ?? (await readKeyFile(path)) ?? '', path);
}

/** The same for a command. It creates no file, because a new key could not open anything that is stored. */
export async function loadExistingSecretKey(security: Config['security']): Promise<Uint8Array> {
  if (security.secretKey === null && (await readKeyFile(security.secretKeyFile)) === null)
    throw new StartError(`security.secret_key_file: ${security.secretKeyFile} does not exist`);
  return loadSecretKey(security, () => {});
}

function createKeyFile(path: string): Promise<boolean> {
  return createPrivateFile(path, randomBytes(32).toString('hex')).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`security.secret_key_file: ${path} cannot be made (${fileFault(error)})`);
  });
}

function readKeyFile(path: string): Promise<string | null> {
  return readIfThere(path).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`security.secret_key_file: ${path} cannot be read (${fileFault(error)})`);
  });
}

function parseKey(text: string, source: string): Uint8Array {
  const key = keyOf(text);
  if (key === null) throw new StartError(`${source}: a secret key has 64 hex characters`);
  return key;
}
