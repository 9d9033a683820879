import { stopAfter } from '../../lib/deadline.js';
import { sleep } from '../../lib/sleep.js';
import type { Target } from './engine.js';
import type { Session } from './session.js';

/** Calls `ask` on new connections until it returns an answer; null when the time is over, even when the server is silent. */
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
      // The database may be restarting; the next round asks again.
    }
    await sleep(timings.commitProbeEveryMs);
  }
  return null;
}
