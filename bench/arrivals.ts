import { sleep } from '../lib/sleep.js';

interface Arrivals {
  sent: number;
  /** Nothing was sent for these, because `maxOpen` were still open. */
  skipped: number;
  failed: number;
  /** The messages of the first failures. */
  failures: string[];
}

const failuresKept = 5;

/** Begins `work` `rate` times a second for `seconds`, however long each takes; resolves when all are over. */
export async function evenly(
  { rate, seconds, maxOpen = Number.POSITIVE_INFINITY }: { rate: number; seconds: number; maxOpen?: number },
  work: () => Promise<unknown>,
): Promise<Arrivals> {
  const arrivals: Arrivals = { sent: 0, skipped: 0, failed: 0, failures: [] };
  const note = ({ message }: Error) => {
    arrivals.failed += 1;
    if (arrivals.failures.length < failuresKept) arrivals.failures.push(message);
  };
  const open = new Set<Promise<void>>();
  const startedAt = performance.now();
  for (let count = 0; count < rate * seconds; count += 1) {
    await sleep(Math.max(0, startedAt + (count * 1000) / rate - performance.now()));
    if (open.size >= maxOpen) {
      arrivals.skipped += 1;
      continue;
    }
    arrivals.sent += 1;
    const one: Promise<void> = work()
      .then(() => {}, note)
      .finally(() => open.delete(one));
    open.add(one);
  }
  await Promise.all(open);
  return arrivals;
}
