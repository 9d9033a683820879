import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { takeLock } from '../bin/lock.mjs';
import { sleep } from '../lib/sleep.js';

/**
 * Runs `work` while no other process runs under the same lock file; waits for the other one for at most `waitMs`, and says so
 * once.
 */
export async function withLock<T>(
  file: string,
  options: { waitMs: number; signal: AbortSignal; onWait: (holder: number) => void },
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const deadline = Date.now() + options.waitMs;
  let hasWaited = false;
  for (;;) {
    const lock = takeLock(file);
    if (lock.release !== undefined) return await work().finally(lock.release);
    if (Date.now() > deadline) throw new Error(`process ${lock.holder} has held ${file} for too long; stop it and start again`);
    if (!hasWaited) options.onWait(lock.holder);
    hasWaited = true;
    await sleep(100, options.signal);
    options.signal.throwIfAborted();
  }
}
