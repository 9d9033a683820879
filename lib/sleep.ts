/** The longest wait of a timer, 24 days. A longer timer would fire at once. */
export const longestTimerMs = 2_147_483_647;

/** Resolves after `ms`, or at once if the signal is or becomes aborted. Never rejects. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, longestTimerMs));
    signal?.addEventListener('abort', done, { once: true });
  });
}
