/** Resolves after `ms`, or at once when the signal is or becomes aborted; never rejects. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Resolves with the value, or with `fallback` when the signal aborts or the time is over first. */
export async function within<T, F>(promise: Promise<T>, ms: number, fallback: F, signal?: AbortSignal): Promise<T | F> {
  const over = new AbortController();
  const stop = () => over.abort();
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  try {
    return await Promise.race([promise, sleep(ms, over.signal).then(() => fallback)]);
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}
