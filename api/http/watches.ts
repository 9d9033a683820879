import type { Notifications } from '../../db/notifications.js';

/** How long a watch waits for its caller's next call, which mostly comes at once. */
const keptMs = 1000;

/** What the last look found, for as long as nothing was notified: whoever asks again need not look again. Heard also between two calls. */
export interface Watch<T> {
  /** What the last look found, if that may stand for another one, and nothing was notified since it began or could not be; else null. */
  standing(): T | null;
  look(find: () => Promise<T>): Promise<T>;
  /** To be called once. */
  leave(): void;
}

/** Watches by key, each shared by all calls that joined it. */
export interface Watches<T> {
  join(notifications: Listened, key: string, topics: readonly string[]): Watch<T>;
  /** Without joining. */
  standing(key: string): T | null;
  readonly size: number;
}

type Listened = Pick<Notifications, 'subscribe' | 'hears'>;

interface Shared<T> {
  callers: number;
  last: { found: T; at: number } | null;
  /** How many notifications there were, and how many looks have begun. */
  news: number;
  looks: number;
  /** Of the looks that have ended, which one began last: what it found stands, whatever has begun since. */
  newest: number;
  hears(): boolean;
  closing: NodeJS.Timeout | undefined;
  close(): void;
}

/** `stands` tells what may stand for another look, and `believedMs` for how long. */
export function createWatches<T>(terms: { believedMs: number; stands(found: T): boolean }): Watches<T> {
  const open = new Map<string, Shared<T>>();
  const foundIn = (shared: Shared<T> | undefined): T | null =>
    shared?.last != null && shared.hears() && performance.now() < shared.last.at + terms.believedMs ? shared.last.found : null;
  return {
    get size() {
      return open.size;
    },
    standing: (key) => foundIn(open.get(key)),
    join(notifications, key, topics) {
      const shared = open.get(key) ?? openShared<T>(notifications, topics, () => open.delete(key));
      open.set(key, shared);
      shared.callers++;
      clearTimeout(shared.closing);
      return {
        standing: () => foundIn(shared),
        look: (find) => lookAnew(shared, find, terms.stands),
        leave() {
          shared.callers--;
          if (shared.callers === 0) shared.closing = setTimeout(shared.close, keptMs).unref();
        },
      };
    },
  };
}

function openShared<T>({ subscribe, hears }: Listened, topics: readonly string[], forget: () => void): Shared<T> {
  const hear = () => {
    shared.last = null;
    shared.news++;
  };
  const releases = topics.map((name) => subscribe(name, hear));
  const close = () => {
    for (const release of releases) release();
    forget();
  };
  const shared: Shared<T> = { callers: 0, last: null, news: 0, looks: 0, newest: 0, hears, closing: undefined, close };
  return shared;
}

async function lookAnew<T>(shared: Shared<T>, find: () => Promise<T>, stands: (found: T) => boolean): Promise<T> {
  shared.last = null;
  const [at, news, look] = [performance.now(), shared.news, ++shared.looks];
  const found = await find();
  if (look > shared.newest) {
    shared.newest = look;
    shared.last = shared.news === news && stands(found) ? { found, at } : null;
  }
  return found;
}
