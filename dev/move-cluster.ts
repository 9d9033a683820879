import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, startChild } from './child.js';

/**
 * Moves the data of an earlier version, which lay where their user could enter, to where it can now: whole or not at all. A start that is killed
 * anywhere is gone on with by the next one. Nobody else may use them meanwhile.
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
    // What is half removed later must never be taken for the data.
    renameSync(from, leaving);
  }
  if (!holdsCluster(leaving)) return false;
  await copyWhole(leaving, to, logFile);
  removeCluster(leaving);
  return true;
}

/** Takes back what a killed start was about to move, where that is no longer wanted. */
export function stayCluster(dataDir: string): void {
  if (!existsSync(dataDir) && holdsCluster(leavingOf(dataDir))) renameSync(leavingOf(dataDir), dataDir);
}

const leavingOf = (dataDir: string): string => `${dataDir}.moved`;
const versionIn = (dataDir: string): string => join(dataDir, 'PG_VERSION');

export const holdsCluster = (dataDir: string): boolean => existsSync(versionIn(dataDir));

/** Its version first, without which it is no cluster. */
function removeCluster(dataDir: string): void {
  rmSync(versionIn(dataDir), { force: true });
  rmSync(dataDir, { recursive: true, force: true });
}

/** False when the two lie on different file systems. */
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
  // Ends with this process: nobody may write into the copy once another start uses it.
  const copying = startChild({ name: 'cp', file: 'cp', args: ['-a', from, unfinished], logFile, deathSignal: 'SIGKILL' });
  const how = await copying.exited;
  if (how !== 'exit code 0') throw new Error(`${from} cannot be copied to ${to} (${how}): ${lastLines(logFile, 5)}`);
  renameSync(unfinished, to);
}
