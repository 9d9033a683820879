import { longestTimerMs, sleep } from './sleep.js';

/** Resolves with the value, or with `fallback` when the signal aborts or the time is over first. */
export async function within<T, F>(promise: Promise<T>, ms: number, fallback: F, signal?: AbortSignal): Promise<T | F> {
  const over = new AbortController();
  const stop = () => over.abort();
  const waiting = () => Promise.race([promise, sleep(ms, over.signal).then(() => fallback)]);
  return await stopAfter(Number.POSITIVE_INFINITY, stop, waiting, signal).finally(stop);
}

/** The promise, or after `ms` the error of `late`; a value that comes too late goes to `onLate`. */
export function beforeDeadline<T>(
  promise: Promise<T>,
  ms: number,
  { late, onLate }: { late: () => Error; onLate?: (value: T) => void },
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false;
    const timer = setTimeout(
      () => {
        over = true;
        reject(late());
      },
      Math.min(ms, longestTimerMs),
    );
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

/** Runs `work`, and calls `stop` when `ms` are over before its end or the signal aborts, at once if it has; at the most once each. */
export async function stopAfter<T>(ms: number, stop: () => void, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const timer = ms <= longestTimerMs ? setTimeout(stop, ms) : undefined;
  // Not AbortSignal.any: each of its signals leaves an entry in the one it follows for as long as that lives.
  signal?.addEventListener('abort', stop, { once: true });
  try {
    if (signal?.aborted) stop();
    return await work();
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Whether `isTrue` becomes true within `ms`; it is asked every `everyMs`. Throws the signal's reason when that aborts first. */
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
