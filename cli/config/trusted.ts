import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { waitUntil } from '../../lib/deadline.js';
import { fileFault } from '../../lib/file-fault.js';
import { failure } from '../failure.js';
import { configDirectory } from './layers.js';

/** What a person has trusted: the project file of one folder may send this person's credentials to one address (HD-60). */
export interface TrustEntry {
  /** Without links. */
  folder: string;
  address: string;
  /** SHA-256 of the certificate authority that the project file brings along, or null. */
  ca: string | null;
  /** The addresses to which the project file leads a login, as it spells them. */
  provider?: string;
}

const lockWaitMs = 5_000;
/** A change takes milliseconds; an older lock was left behind by a process that was killed. */
const staleLockMs = 4_000;

export function isTrusted(entries: readonly TrustEntry[], { folder, address, ca, provider }: TrustEntry): boolean {
  return entries.some(
    (entry) => entry.folder === folder && entry.address === address && entry.ca === ca && entry.provider === provider,
  );
}

/** `<config dir>/svc/trusted.json`; `config_error` where there is no such folder. */
export function trustedFile(environment: Record<string, string | undefined>): string {
  const base = configDirectory(environment, process.platform);
  if (base === null)
    throw failure('config_error', 'no folder to store trusted addresses in', { hint: 'set HOME or XDG_CONFIG_HOME' });
  return join(base, 'svc', 'trusted.json');
}

/** The entries of the file, none when it is missing. One that others could have written, or that is broken, is `config_error`. */
export function readTrusted(file: string): TrustEntry[] {
  const text = readOwn(file);
  if (text === null) return [];
  const entries = entriesOf(text);
  if (entries === null)
    throw failure('config_error', `${file}: the file is damaged`, { hint: 'remove it, then run svc trust again' });
  return entries;
}

/** Replaces the entries by what `change` makes of them; several processes may do so at once. */
export async function changeTrusted(file: string, change: (entries: TrustEntry[]) => TrustEntry[]): Promise<void> {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    await underLock(`${file}.lock`, () => {
      const text = `${JSON.stringify({ version: 1, trusted: change(readTrusted(file)) }, null, 2)}\n`;
      removeUnfinished(file);
      const unfinished = `${file}.${process.pid}.new`;
      writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx', flush: true });
      renameSync(unfinished, file);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'config_error') throw error;
    throw failure(
      'config_error',
      `${file}: it cannot be written (${code === undefined ? (error as Error).message : fileFault(error)})`,
    );
  }
}

/** Files that killed processes left behind: nobody else writes while the lock is held. */
function removeUnfinished(file: string): void {
  const [folder, start] = [dirname(file), `${basename(file)}.`];
  for (const name of readdirSync(folder))
    if (name.startsWith(start) && name.endsWith('.new')) rmSync(join(folder, name), { force: true });
}

function readOwn(file: string): string | null {
  let stat: Stats;
  try {
    stat = statSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw failure('config_error', `${file}: it cannot be read (${fileFault(error)})`);
  }
  if (!stat.isFile()) throw failure('config_error', `${file}: it is not a regular file`);
  refuseOthers(file, stat);
  refuseOthers(dirname(file), statSync(dirname(file)));
  return readFileSync(file, 'utf8');
}

/** Whoever can write the file, or put another in its place, could trust an address in the person's name. */
function refuseOthers(path: string, { mode, uid }: Stats): void {
  if (process.platform === 'win32') return;
  if ((mode & 0o022) !== 0)
    throw failure('config_error', `${path}: other users can write to it, so it is ignored`, { hint: `chmod go-w ${path}` });
  if (uid !== process.getuid?.() && uid !== 0)
    throw failure('config_error', `${path}: it belongs to another user, so it is ignored`);
}

function entriesOf(text: string): TrustEntry[] | null {
  try {
    const { version, trusted } = JSON.parse(text) as { version?: unknown; trusted?: unknown };
    return version === 1 && Array.isArray(trusted) && trusted.every(isEntry) ? trusted : null;
  } catch {
    return null;
  }
}

function isEntry(value: unknown): value is TrustEntry {
  const { folder, address, ca, provider } = (value ?? {}) as Record<string, unknown>;
  const isText = [folder, address, ca ?? '', provider ?? ''].every((one) => typeof one === 'string');
  return isText && ca !== undefined && provider !== null;
}

async function underLock(file: string, work: () => void): Promise<void> {
  if (!(await waitUntil(() => take(file), { ms: lockWaitMs, everyMs: 20 })))
    throw failure('config_error', `${file}: another svc is using it; if none is running, remove it`);
  try {
    work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > staleLockMs) rmSync(file, { force: true });
    return false;
  }
}
