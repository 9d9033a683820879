import { limitDatabaseWork } from '../db/call-limit.js';
import { createBell } from '../lib/bell.js';

export interface Repeated {
  /** Runs now instead of at the end of the pause. */
  wake(): void;
  /** Ends the pause and waits for work in progress. */
  stop(): Promise<void>;
}

const workTimeoutMs = 4000;

/** Background work: runs every `everyMs` and on `wake`, never twice at a time. An error is reported and does not end it (OP-80). */
export function repeat(options: { everyMs: number; work: () => Promise<void>; onError: (error: unknown) => void }): Repeated {
  const bell = createBell();
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await bell.wait(options.everyMs, stopping.signal);
      if (!stopping.signal.aborted) await limitDatabaseWork(workTimeoutMs, options.work).catch(options.onError);
    }
  })();
  return {
    wake: bell.ring,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
