import { readFileSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileFault } from '../../lib/file-fault.js';
import { failure } from '../failure.js';
import type { FileLayer } from './file.js';
import type { Layered, Layers } from './layers.js';

export type Credential = Layered & { kind: 'token' | 'token_file' | 'oidc' };

/** The highest layer with a credential decides; within a layer a token wins over `[server.oidc]` (CL-07). */
export function findCredential(layers: Layers): Credential | undefined {
  const token = layers.inEnvironment('server.token');
  if (token) return { ...token, kind: 'token' };
  for (const file of layers.files) {
    const found = credentialOf(layers, file);
    if (found) return found;
  }
  return undefined;
}

function credentialOf(layers: Layers, file: FileLayer): Credential | undefined {
  for (const kind of ['token', 'token_file'] as const) {
    const value = layers.inFile(file, `server.${kind}`);
    if (value) return { ...value, kind };
  }
  if (!file.hasOidc) return undefined;
  return { kind: 'oidc', text: '', layer: file.kind, where: `${file.path}: [server.oidc]`, directory: file.directory };
}

/** The token itself. `isFound`: a stranger may have written the file that names its location (HD-60). */
export function readToken(credential: Credential, isFound: boolean, warn: (text: string) => void): string {
  const text = credential.kind === 'token' ? credential.text : readTokenFile(credential, isFound, warn);
  const token = text.trim();
  // Any other one-line secret in the folder must not be taken for a token.
  const isToken =
    isFound && credential.kind === 'token_file' ? apiToken.test(token) || webToken.test(token) : anyToken.test(token);
  if (!isToken)
    throw failure('auth_error', `${credential.where}: not a valid token`, {
      hint: 'a token is one word, such as svc_ and 32 characters',
    });
  return token;
}

const anyToken = /^[\x21-\x7e]{12,8192}$/;
const apiToken = /^svc_[0-9a-f]{32}$/;
const webToken = /^[\w-]{2,4096}\.[\w-]{2,4096}\.[\w-]{2,4096}$/;

function readTokenFile(credential: Credential, isFound: boolean, warn: (text: string) => void): string {
  const path = resolve(credential.directory, credential.text);
  try {
    const real = realpathSync(path);
    if (isFound && !isBelow(realpathSync(credential.directory), real))
      throw failure('config_error', `${credential.where}: ${path} is outside the folder of the file that names it`, {
        hint: 'move it into that folder, set SVC_TOKEN, or pass the file with --config',
      });
    if (process.platform !== 'win32' && (statSync(real).mode & 0o077) !== 0)
      warn(`${path} can be read by others; run chmod 600 on it`);
    return readFileSync(real, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'config_error') throw error;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${fileFault(error)})`;
    throw failure('config_error', `${credential.where}: ${path} ${why}`, {
      hint: 'set SVC_TOKEN, or put the token into the file',
    });
  }
}

export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
