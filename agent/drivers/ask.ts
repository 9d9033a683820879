import { stopAfter } from '../../lib/deadline.js';
import { sleep } from '../../lib/sleep.js';
import type { Target } from './engine.js';
import type { Session } from './session.js';

/** Asks on new connections, again and again, until `ask` knows the answer; null when the time is over, also when a server says nothing. */
export async function askUntilKnown<S extends Session, T>(
  { pool, timings }: Target<S>,
  untilMs: number,
  ask: (session: S) => Promise<T | null>,
): Promise<T | null> {
  while (performance.now() < untilMs) {
    try {
      const session = await pool.open();
      const askAndRelease = () => ask(session).finally(() => session.release());
      const known = await stopAfter(untilMs - performance.now(), () => session.destroy(), askAndRelease);
      if (known !== null) return known;
    } catch {
      // The database may be coming back; the next round asks again.
    }
    await sleep(timings.commitProbeEveryMs);
  }
  return null;
}
