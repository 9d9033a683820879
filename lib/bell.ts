import { longestTimerMs } from './sleep.js';

/** Wakes one waiter. A ring while nobody waits is kept for the next wait. */
export interface Bell {
  ring(): void;
  /** Resolves with true at a ring; with false after `ms`, or if the signal aborts first. */
  wait(ms: number, signal?: AbortSignal): Promise<boolean>;
}

export function createBell(): Bell {
  let rung = false;
  let wake = () => {};
  return {
    ring() {
      rung = true;
      wake();
    },
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', done);
          resolve(rung);
          rung = false;
          wake = () => {};
        };
        const timer = setTimeout(done, Math.min(ms, longestTimerMs));
        wake = done;
        signal?.addEventListener('abort', done, { once: true });
        if (rung || ms <= 0 || signal?.aborted) done();
      }),
  };
}
