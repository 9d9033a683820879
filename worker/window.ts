export interface Window {
  /** How many calls may be under way now. */
  readonly size: number;
  /** Hears how long a call took. */
  note(ms: number): void;
}

/**
 * Calls that take longer than this wait for a busy machine, not for their own work (5 to 15 ms on an idle one). With 60 ms a machine of 2 cores
 * published 39 per second and kept half of its processor idle, with 200 ms 62.
 */
const slowMs = 200;

/**
 * A window that opens by one per window of quick calls and halves for a slow one: a backlog is worked off as fast as Temporal allows, and the
 * engine's work never crowds out the callers on a machine that both share.
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
      // The calls of one window are slow together; they count once.
      else if (--quiet <= 0) {
        size = Math.max(min, size / 2);
        quiet = Math.ceil(size);
      }
    },
  };
}
