import { limitDatabaseWork } from '../../db/call-limit.js';
import { createBell } from '../../lib/bell.js';
import { createPermits } from '../../lib/permits.js';
import type { Services } from '../context.js';
import type { Call } from './route.js';

/** What one look of a waiter may spend on our database (OP-70). */
const lookTimeoutMs = 4000;
/** Thousands may wait for one commit: they look a few at a time, or all would stand in line for our connections, other calls among them (HT-101). */
const atOnce = createPermits(5);

/**
 * Asks `look` until it gives something else than null: first at once, then at each wake-up of a topic (HT-100). null = the time is up, the process
 * drains (HT-105) or the client has gone (HT-104). Each look has its own database limit; between looks nothing is held (HT-101). `woken` tells a look
 * that a topic rang, so that it will most likely find something. Nobody looks unrung, at the end neither: the listener makes good what it missed (HT-102),
 * and looks of thousands of waiters are what waiting costs.
 */
export async function longPoll<T>(
  call: Pick<Call<unknown, unknown, unknown>, 'signal' | 'whileWaiting'>,
  services: Pick<Services, 'notifications' | 'lifecycle'>,
  options: { topics: string[]; ms: number },
  look: (woken: boolean) => Promise<T | null>,
): Promise<T | null> {
  const bell = createBell();
  const releases = options.topics.map((name) => services.notifications.subscribe(name, bell.ring));
  releases.push(services.lifecycle.onDrain(bell.ring));
  const deadline = performance.now() + options.ms;
  try {
    for (let woken = false; ; woken = true) {
      if (woken) await call.whileWaiting(() => atOnce.take());
      const found = await limitDatabaseWork(lookTimeoutMs, () => look(woken)).finally(woken ? atOnce.give : null);
      const leftMs = deadline - performance.now();
      if (found !== null || leftMs <= 0 || services.lifecycle.draining || call.signal.aborted) return found;
      const rung = await call.whileWaiting(() => bell.wait(Math.ceil(leftMs), call.signal));
      if (!rung || services.lifecycle.draining || call.signal.aborted) return null;
    }
  } finally {
    for (const release of releases) release();
  }
}
