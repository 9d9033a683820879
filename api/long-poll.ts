import { limitDatabaseWork } from '../db/call-limit.js';
import type { Services } from './context.js';
import type { Call } from './route.js';

/** What one look of a waiter may spend on our database (OP-70). */
const lookTimeoutMs = 4000;
/** Thousands may wait for one commit: they look a few at a time, or all would stand in line for our connections, other calls among them (HT-101). */
const atOnce = createGate(5);

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
  const bell = openBell(call, services, options.topics);
  const deadline = performance.now() + options.ms;
  try {
    for (let woken = false; ; woken = true) {
      bell.reset();
      const leave = woken ? await call.whileWaiting(atOnce.enter) : null;
      const found = await limitDatabaseWork(lookTimeoutMs, () => look(woken)).finally(leave);
      const leftMs = deadline - performance.now();
      if (found !== null || leftMs <= 0 || services.lifecycle.draining || call.signal.aborted) return found;
      await call.whileWaiting(() => bell.rings(Math.ceil(leftMs)));
      if (!bell.rung() || services.lifecycle.draining || call.signal.aborted) return null;
    }
  } finally {
    bell.close();
  }
}

/** `enter` resolves when one of the `places` is free, in the order of the calls, with what gives the place back. */
function createGate(places: number) {
  let free = places;
  const queue: (() => void)[] = [];
  const leave = () => {
    const next = queue.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return {
    enter: async () => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => queue.push(resolve));
      return leave;
    },
  };
}

/** Rung by topics, drain and the client's going; a ring while nobody waits is kept. */
function openBell(call: { signal: AbortSignal }, services: Pick<Services, 'notifications' | 'lifecycle'>, topics: string[]) {
  let rung = false;
  let wake = () => {};
  const ring = () => {
    rung = true;
    wake();
  };
  const releases = [
    ...topics.map((name) => services.notifications.subscribe(name, ring)),
    services.lifecycle.onDrain(ring),
    () => call.signal.removeEventListener('abort', ring),
  ];
  call.signal.addEventListener('abort', ring);
  return {
    rung: () => rung,
    reset: () => {
      rung = false;
    },
    rings: (ms: number) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        if (rung) wake();
      }),
    close: () => {
      for (const release of releases) release();
    },
  };
}
