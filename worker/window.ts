export interface Window {
  /** How many calls may run now. */
  readonly size: number;
  /** Reports how long a call took. */
  note(ms: number): void;
}

/**
 * Calls slower than this wait for a busy machine, not for their own work (5 to 15 ms on an idle one). On a machine with 2 cores, 60 ms
 * published 39 per second and left half of the processor idle; 200 ms published 62.
 */
const slowMs = 200;

/**
 * Grows by one after each window of quick calls and halves after a slow one. A backlog is sent as fast as Temporal allows, and Temporal's
 * work never crowds out callers on a shared machine.
 */
export function createWindow({ min, max }: { min: number; max: number }): Window {
  let size = min;
  let quiet = 0;
  return {
    get size() {
      return Math.floor(size);
    },
    note(ms) {
      if (ms <= slowMs) size = Math.min(max, size + 1 / size);
      // Calls of one window are slow together, so they count once.
      else if (--quiet <= 0) {
        size = Math.max(min, size / 2);
        quiet = Math.ceil(size);
      }
    },
  };
}
