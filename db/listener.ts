import pg from 'pg';
import { sleep } from '../lib/sleep.js';
import { sessionOptions } from './pool.js';

/** The longest time between setting `updated_at` and the commit: a call's database limit, with room for a suspension of thousands. */
export const longestCommitMs = 30_000;
/** The interval, a probe's deadline and the pause together find and replace a dead connection within 5 s (HT-102). */
const probeEveryMs = 2000;
const probeTimeoutMs = 2300;
const reconnectPauseMs = 500;

/** Topics by committed state: each key is a row in one of its states. */
export type News = Map<string, string[]>;

/**
 * Skips what the last probe already reported: later waiters have queried since. Waking everybody each time would cost each of a request's
 * 2,000 waiters 15 queries.
 */
function topicsNotIn(told: News, news: News): Set<string> {
  const fresh = [...news].filter(([key]) => !told.has(key));
  return new Set(fresh.flatMap(([, topics]) => topics));
}

export interface ListenOptions {
  url: string;
  applicationName: string;
  channels: readonly string[];
  /** The first line of this process's own notifications, whose waiters it has woken already. */
  sender: string;
  /** Asks for what was committed lately, if anybody relies on it. */
  recent: ((client: pg.Client, lastMs: number) => Promise<News>) | null;
  wakeTopic(name: string): void;
  wakeAll(): void;
  onLost?: (error: unknown) => void;
  /** Called each time that it listens, at first and after a loss. */
  onListening?: () => void;
}

interface Listening {
  /** The listening connection while it has nothing else to do. */
  free: pg.Client | null;
  hears: boolean;
}

/** Listens until it is stopped, on one connection after the other. */
export function keepListening(options: ListenOptions) {
  const stopping = new AbortController();
  const listening: Listening = { free: null, hears: false };
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await listenOnce(options, stopping.signal, listening).catch((error: unknown) => {
        if (!stopping.signal.aborted) options.onLost?.(error);
      });
      await sleep(reconnectPauseMs, stopping.signal);
    }
  })();
  return {
    /** Null while the connection is missing or busy. */
    query: (text: string, values: unknown[]) => listening.free?.query({ name: 'notify', text, values }) ?? null,
    hears: () => listening.hears,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function listenOnce(options: ListenOptions, signal: AbortSignal, listening: Listening): Promise<void> {
  const { channels, sender, recent, wakeTopic, wakeAll } = options;
  const client = new pg.Client({
    connectionString: options.url,
    application_name: `${options.applicationName} listen`,
    connectionTimeoutMillis: 3000,
    query_timeout: probeTimeoutMs,
    keepAlive: true,
    options: sessionOptions(3000),
  });
  const broken = new Promise<never>((_, reject) => client.on('error', reject));
  broken.catch(() => {});
  client.on('notification', ({ payload }) => {
    const [from, ...names] = (payload ?? '').split('\n');
    if (from !== sender) names.forEach(wakeTopic);
  });
  try {
    await client.connect();
    await client.query(channels.map((channel) => `listen ${channel}`).join('; '));
    listening.hears = true;
    wakeAll();
    options.onListening?.();
    let probedAt = performance.now();
    let news: News = new Map();
    while (!signal.aborted) {
      listening.free = client;
      await Promise.race([sleep(probeEveryMs, signal), broken]);
      listening.free = null;
      if (signal.aborted) break;
      const since = probedAt;
      probedAt = performance.now();
      const told = news;
      if (recent === null) await client.query('select 1');
      else news = await recent(client, probedAt - since + longestCommitMs);
      topicsNotIn(told, news).forEach(wakeTopic);
    }
  } finally {
    listening.free = null;
    listening.hears = false;
    await client.end().catch(() => {});
  }
}
