import { longestTimerMs, sleep } from './sleep.js';

/** Resolves with the value, or with `fallback` if the time is over or the signal aborts first. */
export async function within<T, F>(promise: Promise<T>, ms: number, fallback: F, signal?: AbortSignal): Promise<T | F> {
  const over = new AbortController();
  const stop = () => over.abort();
  const waiting = () => Promise.race([promise, sleep(ms, over.signal).then(() => fallback)]);
  return await stopAfter(Number.POSITIVE_INFINITY, stop, waiting, signal).finally(stop);
}

/** The promise; after `ms` it rejects with the error of `late`, and a value that comes later goes to `onLate`. */
export function beforeDeadline<T>(
  promise: Promise<T>,
  ms: number,
  { late, onLate }: { late: () => Error; onLate?: (value: T) => void },
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false;
    const end = () => {
      over = true;
      reject(late());
    };
    // One turn later: what arrived while this process stood still is read first, and counts as in time.
    const timer = setTimeout(() => setImmediate(end), Math.min(ms, longestTimerMs));
    promise.then(
      (value) => {
        clearTimeout(timer);
        if (over) onLate?.(value);
        else resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        if (!over) reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

/** Runs `work`. Calls `stop` if `ms` pass before its end, and if the signal aborts or already has: at most once for each. */
export async function stopAfter<T>(ms: number, stop: () => void, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const timer = ms <= longestTimerMs ? setTimeout(stop, ms) : undefined;
  // Not AbortSignal.any: its signals stay registered with the one that they follow for as long as that lives.
  signal?.addEventListener('abort', stop, { once: true });
  try {
    if (signal?.aborted) stop();
    return await work();
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Whether `isTrue` becomes true within `ms`, asked every `everyMs`. Throws the signal's reason if that aborts first. */
export async function waitUntil(
  isTrue: () => boolean | Promise<boolean>,
  { ms, everyMs, signal }: { ms: number; everyMs: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const until = performance.now() + ms;
  while (!(await isTrue())) {
    signal?.throwIfAborted();
    if (performance.now() >= until) return false;
    await sleep(everyMs, signal);
  }
  return true;
}
