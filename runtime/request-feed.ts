import { setImmediate as turn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { limitDatabaseWork } from '../db/call-limit.js';
import type { Database } from '../db/client.js';
import type { Notifications } from '../db/notifications.js';
import { listOutlines } from '../db/request-state.js';
import { passedSelectors } from '../domain/request/passed-step.js';
import type { StoredRequest } from '../domain/request/types.js';
import { sleep } from '../lib/sleep.js';

/** A request that has changed, without its text. */
export interface Moved {
  request: StoredRequest;
  now: number;
  /** Selectors of a step for which it no longer waits: who matches one may have seen it until now. */
  passed: readonly string[];
}

export interface FeedListener {
  moved(change: Moved): void;
  /** Changes may have been missed. */
  lost(): void;
}

/** Tells listeners of this process of each committed change of a request, in the order of its versions. Changes that come together are told as the last of them. */
export interface RequestFeed {
  listen(listener: FeedListener): () => void;
}

/** Changes within this time are read together. */
const gatherMs = 50;
const batch = 200;
const maxWaiting = 10_000;
/** Requests whose last told version is remembered. */
const maxKnown = 10_000;
const readMs = 4000;
/** How many are told before other work of the process gets its turn: each is judged for every listener. */
const toldAtOnce = 5;

type Known = Pick<StoredRequest, 'version' | 'status' | 'currentStep'>;

export function createRequestFeed({
  database,
  notifications,
  log,
}: {
  database: Database;
  notifications: Notifications;
  log: Logger;
}): RequestFeed {
  const listeners = new Set<FeedListener>();
  const known = new LRUCache<string, Known>({ max: maxKnown });
  const waiting = new Set<string>();
  let isReading = false;
  let unwatch = () => {};
  const loseAll = () => {
    waiting.clear();
    for (const { lost } of [...listeners]) lost();
  };
  const tell = ({ request, now }: Omit<Moved, 'passed'>) => {
    const before = known.get(request.id);
    if (before !== undefined && before.version >= request.version) return;
    const { version, status, currentStep } = request;
    known.set(request.id, { version, status, currentStep });
    const passed = passedSelectors(before, request);
    for (const { moved } of [...listeners]) moved({ request, now, passed });
  };
  const tellBatch = async () => {
    const ids = [...waiting].slice(0, batch);
    for (const id of ids) waiting.delete(id);
    const found = await limitDatabaseWork(readMs, () => listOutlines(database, ids));
    for (const [index, one] of found.entries()) {
      if (index % toldAtOnce === toldAtOnce - 1) await turn();
      tell(one);
    }
  };
  const read = async () => {
    isReading = true;
    try {
      while (waiting.size > 0 && listeners.size > 0) {
        await sleep(gatherMs);
        await tellBatch();
      }
    } catch (error) {
      log.warn({ error: String(error) }, 'changes of requests cannot be told');
      loseAll();
    } finally {
      // At once: what is noted from now on begins another read.
      isReading = false;
    }
  };
  const note = (id: string | null) => {
    if (id === null || waiting.size >= maxWaiting) return loseAll();
    waiting.add(id);
    if (!isReading) void read();
  };
  return {
    listen(listener) {
      if (listeners.size === 0) unwatch = notifications.watchRequests(note);
      listeners.add(listener);
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        unwatch();
        waiting.clear();
      };
    },
  };
}
