import { limitDatabaseWork } from '../../db/call-limit.js';
import { topic } from '../../db/notifications.js';
import { createBell } from '../../lib/bell.js';
import { createPermits } from '../../lib/permits.js';
import type { Services } from '../context.js';
import type { Call } from './route.js';

/** Database limit of each look (OP-70). */
const lookTimeoutMs = 4000;
/** Thousands may wait for one commit. They look a few at a time: otherwise they would take all connections from other calls (HT-101). */
const atOnce = createPermits(5);

/**
 * Calls `look` immediately, then after each notification of a topic, until it returns non-null (HT-100). Returns null when the time is up,
 * the process drains (HT-105) or the client has gone (HT-104).
 * A caller whose credential ends meanwhile gets its 401 or 403 at once.
 * Each look has its own database limit; nothing is held between looks (HT-101). `woken` tells a look that a topic was notified, so it will
 * most likely find something; `ring` wakes the wait after it like a notification.
 * Waiters query only when notified; the listener's probe covers lost notifications (HT-102). Queries of thousands of waiters are the cost
 * of waiting.
 */
export async function longPoll<T>(
  call: Pick<Call<unknown, unknown, unknown>, 'caller' | 'recheck' | 'signal' | 'whileWaiting'>,
  services: Pick<Services, 'notifications' | 'lifecycle'>,
  options: { topics: string[]; ms: number },
  look: (woken: boolean, ring: () => void) => Promise<T | null>,
): Promise<T | null> {
  const bell = createBell();
  const releases = options.topics.map((name) => services.notifications.subscribe(name, bell.ring));
  releases.push(services.lifecycle.onDrain(bell.ring));
  let mayHaveEnded = false;
  const onCredentials = () => {
    mayHaveEnded = true;
    bell.ring();
  };
  releases.push(services.notifications.subscribe(topic.credentials(call.caller.id), onCredentials));
  const deadline = performance.now() + options.ms;
  try {
    for (let woken = false; ; woken = true) {
      if (woken) await call.whileWaiting(() => atOnce.take(), atOnce.give);
      const ended = mayHaveEnded;
      mayHaveEnded = false;
      const lookAgain = async () => {
        if (ended) await call.recheck();
        return look(woken, bell.ring);
      };
      const found = await limitDatabaseWork(lookTimeoutMs, lookAgain).finally(woken ? atOnce.give : null);
      const leftMs = deadline - performance.now();
      if (found !== null || leftMs <= 0 || services.lifecycle.draining || call.signal.aborted) return found;
      const rung = await call.whileWaiting(() => bell.wait(Math.ceil(leftMs), call.signal));
      if (!rung || services.lifecycle.draining || call.signal.aborted) return null;
    }
  } finally {
    for (const release of releases) release();
  }
}
