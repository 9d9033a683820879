/** Percentiles of durations in milliseconds, to hundredths. */
export function percentiles(durations: readonly number[]): { p50: number; p90: number; p99: number; max: number } {
  const sorted = [...durations].sort((a, b) => a - b);
  const at = (share: number) =>
    hundredths(sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

export const hundredths = (value: number) => Math.round(value * 100) / 100;

/** Runs `work` and returns how long it took, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The wall clock in milliseconds with fractions, to compare with instants of PostgreSQL on the same machine. */
export const wallClockMs = () => performance.timeOrigin + performance.now();
