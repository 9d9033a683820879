/** What a timer can wait at the most, 24 days; set for longer it would ring at once. */
export const longestTimerMs = 2_147_483_647;

/** Resolves after `ms`, or at once when the signal is or becomes aborted; never rejects. */
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
