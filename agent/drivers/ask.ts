import { sleep } from '../wait.js';
import type { Target } from './engine.js';
import type { Session } from './session.js';

/** Asks on new connections, again and again, until `ask` knows the answer; null when the time is over, also when a server says nothing. */
export async function askUntilKnown<S extends Session, T>(
  { pool, timings }: Target<S>,
  untilMs: number,
  ask: (session: S) => Promise<T | null>,
): Promise<T | null> {
  while (performance.now() < untilMs) {
    let timer: NodeJS.Timeout | undefined;
    try {
      const session = await pool.open();
      timer = setTimeout(() => session.destroy(), untilMs - performance.now());
      try {
        const known = await ask(session);
        if (known !== null) return known;
      } finally {
        await session.release();
      }
    } catch {
      // The database may be coming back; the next round asks again.
    } finally {
      clearTimeout(timer);
    }
    await sleep(timings.commitProbeEveryMs);
  }
  return null;
}
