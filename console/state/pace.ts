/** Changes this close together cause one reload. */
const settleMs = 120;
/** Minimum interval between reloads while changes go on; what is shown is still less than 1 s old. */
const everyMs = 700;

/** Decides when a page looks again at what has changed. */
export interface Pace {
  /**
   * Something has changed. A load in progress is not cut short, or none would finish while changes go on; another follows. With `mayBeLost` (after an
   * outage) the load in progress may never be answered, so a new one starts.
   */
  changed(mayBeLost: boolean): void;
  /** A load has begun; it replaces any other. */
  began(): void;
  ended(): void;
  stop(): void;
}

export function createPace(look: () => void): Pace {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isLooking = false;
  let isStale = false;
  let lastAt = -everyMs;
  const plan = () => {
    isStale = false;
    timer = setTimeout(
      () => {
        timer = undefined;
        look();
      },
      Math.max(settleMs, lastAt + everyMs - performance.now()),
    );
  };
  return {
    changed(mayBeLost) {
      if (isLooking && !mayBeLost) isStale = true;
      else if (timer === undefined) plan();
    },
    began() {
      isLooking = true;
      isStale = false;
      lastAt = performance.now();
    },
    ended() {
      isLooking = false;
      if (isStale && timer === undefined) plan();
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
