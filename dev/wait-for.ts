import { waitUntil } from '../lib/deadline.js';

const lookEveryMs = 40;

interface Wait {
  ms: number;
  signal?: AbortSignal;
  /** The log that tells why it is not ready. */
  logFile?: string;
}

/** Resolves once `isReady` gives true. Throws when the signal aborts, or after `ms`, naming what is missing. */
export async function waitFor(what: string, isReady: () => Promise<boolean>, { ms, signal, logFile }: Wait): Promise<void> {
  if (!(await waitUntil(isReady, { ms, everyMs: lookEveryMs, signal })))
    throw new Error(`${what} was not ready after ${ms / 1000} s${logFile === undefined ? '' : `; its log: ${logFile}`}`);
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
