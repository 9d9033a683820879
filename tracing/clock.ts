/** Time that passed unnoticed by `performance.now()`, as in a machine that slept, or a step of its clock. */
const stepMs = 5;

/**
 * Instants of `performance.now()` as milliseconds since the epoch. Of two instants the later one stays the later, unless the machine's clock was set in between;
 * spans of other machines are compared by that clock.
 */
export function createWallClock(): (instant: number) => number {
  let offset: number = performance.timeOrigin;
  return (instant) => {
    const now = Date.now() - performance.now();
    if (Math.abs(now - offset) > stepMs) offset = now;
    return offset + instant;
  };
}
