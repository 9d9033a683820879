import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { takeLock } from '../../bin/lock.mjs';
import { waitUntil } from '../../lib/deadline.js';
import { fileFault } from '../../lib/file-fault.js';
import { configDirectory } from '../config/layers.js';
import { CommandFailure, failure } from '../failure.js';
import { isOwnFolder, readOwn } from './own-files.js';

/** One login: what a server address gets, and how it is renewed. Times are RFC 3339 by this machine's clock. */
export interface StoredLogin {
  /** The only address that gets the token (CL-06). */
  server: string;
  subject: string | null;
  token: string;
  /** Null: not known, so the token is used until the server refuses it. */
  expires_at: string | null;
  refresh_at: string | null;
  refresh_token: string | null;
  /** Where the login was made, and so the only place where it is renewed and revoked. */
  token_endpoint: string;
  revocation_endpoint: string | null;
  /** The settings that the login was made by; others need another login. */
  made_with: string;
}

/** The logins of one client at one provider, for any number of servers. */
export interface Logins {
  issuer: string;
  client_id: string;
  logins: StoredLogin[];
}

/** CL-43. Nobody but its owner may read or write the folder or a file of it. */
export interface LoginStore {
  readonly file: string;
  /** Null when there is none; `config_error` when the file is not as svc leaves it. */
  read(): Logins | null;
  /** Replaces the file, whatever is in it; an empty list of logins removes it. Only under the lock. */
  write(logins: Logins): void;
  remove(): void;
  /** Runs `work` while no other process changes the file. */
  underLock<T>(work: () => Promise<T>, signal: AbortSignal, waitMs: number): Promise<T>;
}

/** The `reason` of a file that holds nothing to keep. */
export const brokenLogin = 'broken_login';

/** The folder of all logins; `config_error` where there is none to keep them in. */
export function credentialsFolder(environment: Record<string, string | undefined>): string {
  const base = configDirectory(environment, process.platform);
  if (base === null) throw failure('config_error', 'no folder to store the login in', { hint: 'set HOME or XDG_CONFIG_HOME' });
  return join(base, 'svc', 'credentials');
}

export function storeOf(folder: string, issuer: string, clientId: string): LoginStore {
  const name = createHash('sha256').update(`${issuer}\n${clientId}`).digest('hex').slice(0, 16);
  return storeAt(join(folder, `${name}.json`));
}

export function allStores(folder: string): LoginStore[] {
  if (!isOwnFolder(folder)) return [];
  const names = readdirSync(folder).filter((name) => /^[0-9a-f]{16}\.json$/.test(name));
  return names.map((name) => storeAt(join(folder, name)));
}

function storeAt(file: string): LoginStore {
  return {
    file,
    read: () => told(file, 'read', () => (isOwnFolder(dirname(file)) ? readLogins(file) : null)),
    write: (logins) =>
      told(file, 'written', () => (logins.logins.length === 0 ? rmSync(file, { force: true }) : replace(file, logins))),
    remove: () => told(file, 'removed', () => isOwnFolder(dirname(file)) && rmSync(file, { force: true })),
    async underLock(work, signal, waitMs) {
      const lock = await lockOf(file, signal, waitMs);
      try {
        return await work();
      } finally {
        lock();
      }
    },
  };
}

/** Names the file in errors of the system. */
function told<T>(file: string, done: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) throw error;
    throw failure('config_error', `${file}: it cannot be ${done} (${fileFault(error)})`);
  }
}

async function lockOf(file: string, signal: AbortSignal, waitMs: number): Promise<() => void> {
  const folder = dirname(file);
  const take = () => takeLock(`${file}.lock`);
  let lock = told(file, 'written', () => {
    if (!isOwnFolder(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
    return take();
  });
  const isTaken = () => {
    if (lock.release === undefined) lock = told(file, 'written', take);
    return lock.release !== undefined;
  };
  await waitUntil(isTaken, { ms: waitMs, everyMs: 25, signal });
  signal.throwIfAborted();
  if (lock.release !== undefined) return lock.release;
  throw failure('auth_error', `another svc, process ${lock.holder}, has been using the login for too long`, {
    hint: 'try again, or end that process',
  });
}

function readLogins(file: string): Logins | null {
  const text = readOwn(file);
  if (text === null) return null;
  const logins = parse(text);
  if (logins !== null) return logins;
  throw new CommandFailure('config_error', `${file}: it is not what svc wrote`, {
    reason: brokenLogin,
    hint: 'svc login replaces it, svc logout removes it',
  });
}

function replace(file: string, logins: Logins): void {
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, `${JSON.stringify({ version: 1, ...logins }, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true });
  renameSync(unfinished, file);
}

function parse(text: string): Logins | null {
  try {
    const { version, issuer, client_id, logins } = JSON.parse(text) as Record<string, unknown>;
    const isWhole = version === 1 && isText(issuer) && isText(client_id) && Array.isArray(logins) && logins.every(isLogin);
    return isWhole ? { issuer, client_id, logins } : null;
  } catch {
    return null;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isInstant = (value: unknown) => value === null || (isText(value) && !Number.isNaN(Date.parse(value)));

function isLogin(value: unknown): value is StoredLogin {
  const login = (value ?? {}) as Record<keyof StoredLogin, unknown>;
  const texts = [login.server, login.token, login.token_endpoint, login.made_with];
  const perhaps = [login.subject, login.refresh_token, login.revocation_endpoint];
  return (
    texts.every(isText) &&
    perhaps.every((one) => one === null || isText(one)) &&
    [login.expires_at, login.refresh_at].every(isInstant) &&
    /^[\x21-\x7e]{12,8192}$/.test(login.token as string)
  );
}
