import { setTimeout as sleep } from 'node:timers/promises';

const lookEveryMs = 40;

/** Resolves when `isReady` does; throws when the signal aborts or after `waitMs`, naming what did not come. */
export async function waitFor(what: string, waitMs: number, signal: AbortSignal, isReady: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + waitMs;
  while (!(await isReady())) {
    signal.throwIfAborted();
    if (Date.now() > deadline) throw new Error(`${what} was not ready after ${waitMs / 1000} s`);
    await sleep(lookEveryMs, undefined, { signal });
  }
}

/** Whether a GET of the address is answered with 200. */
export async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
