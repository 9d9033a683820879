import { setImmediate as turn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { limitDatabaseWork, outsideCall } from '../db/call-limit.js';
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

interface FeedOptions {
  database: Database;
  notifications: Notifications;
  log: Logger;
}

export function createRequestFeed(options: FeedOptions): RequestFeed {
  return new Feed(options);
}

class Feed implements RequestFeed {
  readonly #options: FeedOptions;
  readonly #listeners = new Set<FeedListener>();
  readonly #known = new LRUCache<string, Known>({ max: maxKnown });
  readonly #waiting = new Set<string>();
  #isReading = false;
  #unwatch = () => {};

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  listen(listener: FeedListener): () => void {
    if (this.#listeners.size === 0) this.#unwatch = this.#options.notifications.watchRequests((id) => this.#note(id));
    this.#listeners.add(listener);
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
      this.#unwatch();
      this.#waiting.clear();
    };
  }

  #note(id: string | null): void {
    if (id === null || this.#waiting.size >= maxWaiting) this.#loseAll();
    else {
      this.#waiting.add(id);
      // It outlives the call whose change begins it.
      if (!this.#isReading) void outsideCall(() => this.#read());
    }
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#waiting.size > 0 && this.#listeners.size > 0) {
        await sleep(gatherMs);
        await this.#tellBatch();
      }
    } catch (error) {
      this.#options.log.warn({ error: String(error) }, 'changes of requests cannot be told');
      this.#loseAll();
    } finally {
      // At once: what is noted from now on begins another read.
      this.#isReading = false;
    }
  }

  async #tellBatch(): Promise<void> {
    const ids = [...this.#waiting].slice(0, batch);
    for (const id of ids) this.#waiting.delete(id);
    const found = await limitDatabaseWork(readMs, () => listOutlines(this.#options.database, ids));
    for (const [index, one] of found.entries()) {
      if (index % toldAtOnce === toldAtOnce - 1) await turn();
      this.#tell(one);
    }
  }

  #tell({ request, now }: Omit<Moved, 'passed'>): void {
    const before = this.#known.get(request.id);
    if (before !== undefined && before.version >= request.version) return;
    const { version, status, currentStep } = request;
    this.#known.set(request.id, { version, status, currentStep });
    const passed = passedSelectors(before, request);
    for (const { moved } of [...this.#listeners]) moved({ request, now, passed });
  }

  #loseAll(): void {
    this.#waiting.clear();
    for (const { lost } of [...this.#listeners]) lost();
  }
}
