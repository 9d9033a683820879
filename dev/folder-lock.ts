import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { takeLock } from '../bin/lock.mjs';
import { clone, type Layout } from './layout.js';
import { formerServer } from './postgres.js';
import { possibleDataDirs } from './postgres-programs.js';

/**
 * Creates the data folder, for its owner alone, and locks it for this process. Throws, naming the process, when another start
 * holds the lock.
 */
export function lockFolder(layout: Layout): () => void {
  if (basename(dirname(layout.data)) === '.svc') closeFolder(dirname(layout.data));
  for (const folder of [layout.data, layout.run, layout.tokens]) closeFolder(folder);
  if (existsSync(layout.state)) closeFolder(layout.state);
  const lock = takeLock(layout.lock);
  if (lock.release === undefined) {
    throw new Error(
      `${layout.data} is in use by process ${lock.holder}; stop that one first, or give another folder with --data`,
    );
  }
  return lock.release;
}

/** Asks, then removes everything that a gateway keeps in the folder, and nothing else. The caller must hold its lock. */
export async function resetFolder(layout: Layout): Promise<void> {
  if (!(await isSure(`remove the gateway in ${layout.data}, its databases and tokens?`))) throw new Error('nothing was removed');
  const ours = /^(state|postgres(\..*)?|temporal\.db.*|tokens|(alice|bob|admin)\.toml|passwords\.json|played)$/;
  for (const name of readdirSync(layout.data)) if (ours.test(name)) remove(join(layout.data, name));
  removeCluster(layout);
}

/**
 * Removes a cluster elsewhere (DV-4) whose folder was removed: its password went with it, and so did the keys of its gateway. Tells where it was, or
 * null if there is none. The caller must hold the lock of the folder.
 */
export function removeLeftCluster(layout: Layout): string | null {
  const [usual, elsewhere] = possibleDataDirs(clone, layout.postgres) as [string, string];
  if ([layout.passwords, layout.state, usual].some((path) => existsSync(path))) return null;
  // One whose server still runs is left to the start, which waits for its end.
  if (!existsSync(elsewhere) || formerServer(elsewhere) !== null) return null;
  removeCluster(layout);
  return elsewhere;
}

/** Covers data kept elsewhere because PostgreSQL runs as another user (DV-4). */
export function removeCluster(layout: Layout): void {
  const [usual, elsewhere] = possibleDataDirs(clone, layout.postgres) as [string, string];
  for (const place of [usual, elsewhere])
    for (const name of [place, `${place}.new`, `${place}.moved`, `${place}.password`]) remove(name);
  // Stays when it also holds a copy of the programs.
  if (existsSync(dirname(elsewhere)) && readdirSync(dirname(elsewhere)).length === 0) remove(dirname(elsewhere));
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

async function isSure(question: string): Promise<boolean> {
  if (['1', 'true', 'yes'].includes(process.env.SVC_YES ?? '')) return true;
  if (!process.stdin.isTTY) throw new Error('--reset asks before it removes anything; without a terminal set SVC_YES=1');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

/**
 * Creates a folder that only its owner can enter; closes an existing one (HD-91). Throws for another user's folder, and for a
 * shared one such as /tmp.
 */
function closeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform === 'win32') return;
  const { mode, uid } = statSync(folder);
  if ((mode & 0o077) === 0) return;
  if (uid !== process.getuid?.() && process.getuid?.() !== 0)
    throw new Error(`${folder} belongs to another user and others can enter it; give another folder with --data`);
  if ((mode & 0o1000) !== 0) throw new Error(`${folder} is shared by everybody; give a folder of its own with --data`);
  chmodSync(folder, 0o700);
}
