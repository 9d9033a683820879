/** Changes that come together are answered by one look. */
const settleMs = 120;
/** While changes go on and on, a page looks no more often: what it shows is still less than 1 s old. */
const everyMs = 700;

/** Decides when a page looks again at what has changed. */
export interface Pace {
  /**
   * Something has changed. A look under way is not cut short by it, or none would end while changes go on: another one follows. But where
   * `mayBeLost`, after the server was away, the look may wait for an answer that never comes.
   */
  changed(mayBeLost: boolean): void;
  /** A look has begun, another one is over then. */
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
