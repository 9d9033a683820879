import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, startChild } from './child.js';

/**
 * Moves the data of an earlier version, from a folder that the PostgreSQL user could enter then to one that it can enter now:
 * whole or not at all. The next start continues a move that was killed at any point. Nobody else may use the data meanwhile.
 */
export async function moveCluster(from: string, to: string, logFile: string): Promise<boolean> {
  const leaving = leavingOf(from);
  if (holdsCluster(to)) {
    removeCluster(leaving);
    return false;
  }
  if (holdsCluster(from)) {
    if (isRenamed(from, to)) return true;
    removeCluster(leaving);
    // Partly removed data must never be mistaken for a whole cluster.
    renameSync(from, leaving);
  }
  if (!holdsCluster(leaving)) return false;
  await copyWhole(leaving, to, logFile);
  removeCluster(leaving);
  return true;
}

/** Undoes the start of a killed move that is no longer wanted. */
export function stayCluster(dataDir: string): void {
  if (!existsSync(dataDir) && holdsCluster(leavingOf(dataDir))) renameSync(leavingOf(dataDir), dataDir);
}

const leavingOf = (dataDir: string): string => `${dataDir}.moved`;
const versionIn = (dataDir: string): string => join(dataDir, 'PG_VERSION');

export const holdsCluster = (dataDir: string): boolean => existsSync(versionIn(dataDir));

/** Removes the version file first: without it, the folder counts as no cluster. */
function removeCluster(dataDir: string): void {
  rmSync(versionIn(dataDir), { force: true });
  rmSync(dataDir, { recursive: true, force: true });
}

/** Renames if possible; false when the two are on different file systems. */
function isRenamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    return false;
  }
}

async function copyWhole(from: string, to: string, logFile: string): Promise<void> {
  const unfinished = `${to}.moved`;
  rmSync(unfinished, { recursive: true, force: true });
  // `cp` dies with this process: nobody may write to the copy once another start uses it.
  const copying = startChild({ name: 'cp', file: 'cp', args: ['-a', from, unfinished], logFile, deathSignal: 'SIGKILL' });
  const how = await copying.exited;
  if (!copying.hasSucceeded()) throw new Error(`${from} cannot be copied to ${to} (${how}): ${lastLines(logFile, 5)}`);
  renameSync(unfinished, to);
}
