import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from './lock.mjs';
import { root } from './sources.mjs';

/** Everything that is built. A stamp is a JSON file that says of which sources. */
export const dist = join(root, 'dist');

const lockWaitMs = 120_000;

export function builtFolder(stamp, signature) {
  const built = readStamp(stamp);
  return isOf(built, signature) && existsSync(join(dist, built.folder)) ? join(dist, built.folder) : null;
}

/** Whether a build is of these sources. A released one comes without sources and is never built again. */
export const isOf = (stamp, signature) => stamp?.released === true || stamp?.signature === signature;

/** Processes that start together build only once: the others wait and use the first one's build. */
export async function underLock(name, work) {
  const deadline = Date.now() + lockWaitMs;
  for (;;) {
    const lock = lockOf(name);
    if (lock.release) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (Date.now() > deadline) throw new Error(`process ${lock.holder} has been building for too long; stop it and start again`);
    await sleep(50);
  }
}

/** Whoever may not write here, as a service's user, needs a build that somebody else has made. */
function lockOf(name) {
  try {
    mkdirSync(dist, { recursive: true });
    return takeLock(join(dist, name));
  } catch (error) {
    if (error.code === undefined) throw error;
    throw new Error(
      `a build is needed, and ${dist} cannot be written (${error.code}); as the owner of ${root} run: npm run build`,
    );
  }
}

/** Keeps the builds of all stamps, and the previous one for processes that still run from it. */
export function removeOldBuilds() {
  const stamps = readdirSync(dist).filter((name) => name.endsWith('.json'));
  const kept = stamps.flatMap((name) => [readStamp(name)?.folder, readStamp(name)?.previous]);
  for (const entry of readdirSync(dist, { withFileTypes: true })) {
    if (entry.isDirectory() && !kept.includes(entry.name)) rmSync(join(dist, entry.name), { recursive: true, force: true });
  }
}

export function readStamp(name) {
  try {
    return JSON.parse(readFileSync(join(dist, name), 'utf8'));
  } catch {
    return null;
  }
}

export function writeStamp(name, stamp) {
  replaceFile(join(dist, name), JSON.stringify(stamp));
}

export function replaceFile(file, text) {
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}
