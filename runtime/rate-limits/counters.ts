import { LRUCache } from 'lru-cache';
import { blockOf, grantedOf, type Limit, type LimitVerdict, windowMs } from '../../domain/rate-limit.js';

/** How many keys a process remembers. Forgetting one wastes the calls it reserved in a shared window, and restarts its window in memory. */
const maxKeys = 50_000;
/** After a failure, calls pass uncounted for this long instead of waiting for an unreachable store (OP-34). */
const pauseMs = 1000;

/** Reserves calls in a window; returns what `reserveCalls` does. */
export type Reserve = (key: string, amount: number) => Promise<{ taken: number; windowEnd: number; leftMs: number }>;

/** Calls that this process may let pass without asking the store. */
interface Held {
  perWindow: number;
  windowEnd: number;
  /** By `performance.now()`; never later than the end by the store's clock. */
  endsAt: number;
  taken: number;
  left: number;
}

export interface Counters {
  /** Counts one call. Asks the store once per block of calls; if the store fails, the call passes. */
  count(limit: Limit): Promise<LimitVerdict>;
}

export interface CounterOptions {
  reserve: Reserve;
  blockOf: (perWindow: number) => number;
  onFailure: (error: unknown) => void;
}

/** Counts calls in blocks from `reserve`, so that all processes together let no more calls pass in a window than the limit (OP-I2). */
function createCounters(options: CounterOptions): Counters {
  const windows = createWindows();
  const store = createAsker(options, windows);
  const take = (key: string, held: Held): LimitVerdict | null => {
    if (held.left > 0) {
      held.left -= 1;
      const goesOn = held.taken < held.perWindow && !store.isPaused();
      if (goesOn && held.left * 2 < options.blockOf(held.perWindow)) void store.ask(key, held.perWindow).catch(() => {});
      return verdictOf(held, true);
    }
    return held.taken >= held.perWindow ? verdictOf(held, false) : null;
  };
  return {
    async count({ kind, subject, perWindow }) {
      const key = `${kind}:${subject}`;
      for (let held = windows.find(key, perWindow); ; held = undefined) {
        const verdict = held && take(key, held);
        if (verdict) return verdict;
        if (store.isPaused()) return uncounted(perWindow);
        const asked = await store.ask(key, perWindow).catch(() => null);
        if (asked === null) return uncounted(perWindow);
        const late = take(key, asked);
        if (late) return late;
      }
    },
  };
}

interface Windows {
  /** The window of the key that has not ended, if its limit is still this one. */
  find(key: string, perWindow: number): Held | undefined;
  /** Adds calls that the store has granted. */
  add(key: string, granted: Held): Held;
}

function createWindows(): Windows {
  // With `max`, the cache would take room for all keys at once.
  const windows = new LRUCache<string, Held>({ maxSize: maxKeys, sizeCalculation: () => 1 });
  return {
    find(key, perWindow) {
      const held = windows.get(key);
      return held !== undefined && held.perWindow === perWindow && held.endsAt > performance.now() ? held : undefined;
    },
    add(key, granted) {
      const before = windows.get(key);
      // One object per window: another holder of it must not spend a call twice.
      if (before?.windowEnd === granted.windowEnd && before.perWindow === granted.perWindow) {
        before.taken = granted.taken;
        before.left += granted.left;
        return before;
      }
      windows.set(key, granted);
      return granted;
    },
  };
}

/** Asks the store for one block of calls at a time and key; calls that arrive meanwhile share the answer. */
function createAsker({ reserve, blockOf, onFailure }: CounterOptions, windows: Windows) {
  const asking = new Map<string, Promise<Held>>();
  let pausedUntil = 0;
  const askOnce = async (key: string, perWindow: number): Promise<Held> => {
    const amount = blockOf(perWindow);
    // Taken before asking, so that our window never ends later than the store's.
    const askedAt = performance.now();
    const { taken, windowEnd, leftMs } = await reserve(key, amount);
    const left = grantedOf(perWindow, amount, taken);
    return windows.add(key, { perWindow, windowEnd, endsAt: askedAt + leftMs, taken, left });
  };
  return {
    isPaused: () => performance.now() < pausedUntil,
    ask(key: string, perWindow: number): Promise<Held> {
      const known = asking.get(key);
      if (known !== undefined) return known;
      const asked = askOnce(key, perWindow).finally(() => asking.delete(key));
      asked.catch((error: unknown) => {
        pausedUntil = performance.now() + pauseMs;
        onFailure(error);
      });
      asking.set(key, asked);
      return asked;
    },
  };
}

/** Counters of a single process (`store = "memory"`), which reserve a whole window. */
export function memoryCounters(onFailure: (error: unknown) => void): Counters {
  const reserve: Reserve = async (_key, amount) => ({ taken: amount, windowEnd: performance.now() + windowMs, leftMs: windowMs });
  return createCounters({ reserve, blockOf: (perWindow) => perWindow, onFailure });
}

/** Counters that all processes share through one store. */
export const sharedCounters = (reserve: Reserve, onFailure: (error: unknown) => void): Counters =>
  createCounters({ reserve, blockOf, onFailure });

function verdictOf(held: Held, passes: boolean): LimitVerdict {
  const { perWindow, taken, left, endsAt } = held;
  const remaining = Math.max(0, perWindow - taken) + left;
  return { passes, perWindow, remaining, resetMs: Math.max(0, endsAt - performance.now()) };
}

const uncounted = (perWindow: number): LimitVerdict => ({ passes: true, perWindow, remaining: perWindow, resetMs: windowMs });
