import { waitUntil } from '../lib/deadline.js';

const lookEveryMs = 40;

/** Resolves when `isReady` does; throws when the signal aborts or after `waitMs`, naming what is missing and the log that tells why. */
export async function waitFor(
  what: string,
  waitMs: number,
  signal: AbortSignal,
  isReady: () => Promise<boolean>,
  logFile: string | null = null,
): Promise<void> {
  if (!(await waitUntil(isReady, { ms: waitMs, everyMs: lookEveryMs, signal })))
    throw new Error(`${what} was not ready after ${waitMs / 1000} s${logFile === null ? '' : `; its log: ${logFile}`}`);
}

/** Whether a GET of the address returns 200. */
export async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
