import { limitDatabaseWork } from '../db/call-limit.js';

export interface Repeated {
  /** Looks now instead of at the end of the pause. */
  wake(): void;
  /** Ends the pause and waits for work in progress. */
  stop(): Promise<void>;
}

const workTimeoutMs = 4000;

/** Background work: once every `everyMs` and when woken, never twice at a time; an error is told and does not end it (OP-80). */
export function repeat(options: { everyMs: number; work: () => Promise<void>; onError: (error: unknown) => void }): Repeated {
  let stopped = false;
  let woken = false;
  let endPause = () => {};
  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, options.everyMs);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
      if (woken || stopped) endPause();
    });
  const running = (async () => {
    while (!stopped) {
      await pause();
      woken = false;
      if (!stopped) await limitDatabaseWork(workTimeoutMs, options.work).catch(options.onError);
    }
  })();
  return {
    wake: () => {
      woken = true;
      endPause();
    },
    stop: async () => {
      stopped = true;
      endPause();
      await running;
    },
  };
}
