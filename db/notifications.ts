import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { sleep } from '../lib/sleep.js';
import { sessionOptions } from './client.js';
import { mutatingMigrations } from './migration-pairs.js';
import { type BatchOptions, batchSender, channel } from './notification-batch.js';

/** One topic per thing somebody may wait for. A wake-up is a hint only: waiters read again (D15). */
export const topic = {
  request: (id: string) => `r:${id}`,
  /** A move of a request to any other status than `dispatched` and `running`: what waits for a result need not look at those. */
  outcome: (id: string) => `o:${id}`,
  jobs: (database: string, environment: string) => `j:${database}/${environment}`,
  /** The answer to a preflight job. */
  preflight: (id: string) => `p:${id}`,
  outbox: 'outbox',
  generation: 'generation',
} as const;

export interface Notifications {
  /** Calls `wake` at each notification of the topic until the returned function is called. */
  subscribe(name: string, wake: () => void): () => void;
  /** Wakes waiters of this process at once and those of others through the database, in batches. */
  publish(topics: string[]): void;
  close(): Promise<void>;
}

export interface NotificationOptions extends BatchOptions {
  url: string;
  applicationName: string;
}

/** `updated_at` is taken this long before the commit at most: a call's time for database work, with room for a suspension of thousands. */
const longestCommitMs = 30_000;
/** Interval, deadline of a probe and pause together find and replace a dead connection within 5 s (HT-102). */
const probeEveryMs = 2000;
const probeTimeoutMs = 2300;
const reconnectPauseMs = 500;

/** Listens on one connection of its own, reconnects for ever, and fans notifications out in memory (OP-71). */
export function openNotifications(options: NotificationOptions): Notifications {
  const subscribers = new Map<string, Set<() => void>>();
  const wakeTopic = (name: string) => {
    for (const wake of [...(subscribers.get(name) ?? [])]) wake();
  };
  const wakeAll = () => {
    for (const name of [...subscribers.keys()]) wakeTopic(name);
  };
  // First line of each payload: who sent it has woken its own waiters already.
  const sender = randomUUID() as string;
  const batch = batchSender(options, sender);
  const listener = keepListening({ ...options, sender }, wakeTopic, wakeAll);
  return {
    subscribe: (name, wake) => subscribe(subscribers, name, wake),
    publish: (topics) => {
      topics.forEach(wakeTopic);
      batch.add(topics);
    },
    close: async () => {
      await listener.stop();
      await batch.idle();
    },
  };
}

function subscribe(subscribers: Map<string, Set<() => void>>, name: string, wake: () => void): () => void {
  const waiting = subscribers.get(name) ?? new Set();
  subscribers.set(name, waiting.add(wake));
  return () => {
    waiting.delete(wake);
    if (waiting.size === 0 && subscribers.get(name) === waiting) subscribers.delete(name);
  };
}

type ListenOptions = NotificationOptions & { sender: string };

function keepListening(options: ListenOptions, wakeTopic: (name: string) => void, wakeAll: () => void) {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await listenOnce(options, stopping.signal, wakeTopic, wakeAll).catch((error: unknown) => {
        if (!stopping.signal.aborted) options.onError?.(error);
      });
      await sleep(reconnectPauseMs, stopping.signal);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function listenOnce(
  options: ListenOptions,
  signal: AbortSignal,
  wakeTopic: (name: string) => void,
  wakeAll: () => void,
): Promise<void> {
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
    if (from !== options.sender) names.forEach(wakeTopic);
  });
  try {
    await client.connect();
    await client.query(`listen ${channel}`);
    wakeAll();
    let probedAt = performance.now();
    let news: News = new Map();
    while (!signal.aborted) {
      await Promise.race([sleep(probeEveryMs, signal), broken]);
      if (signal.aborted) break;
      const since = probedAt;
      probedAt = performance.now();
      const told = news;
      news = await recentNews(client, probedAt - since + longestCommitMs);
      topicsNotIn(told, news).forEach(wakeTopic);
    }
  } finally {
    await client.end().catch(() => {});
  }
}

/** Topics by what was committed: a row in one of its states. */
type News = Map<string, string[]>;

/** What the last probe has seen is told: whoever came later has looked since. Waking all of them each time would cost 2,000 waiters of a request 15 looks each. */
function topicsNotIn(told: News, news: News): Set<string> {
  const fresh = [...news].filter(([key]) => !told.has(key));
  return new Set(fresh.flatMap(([, topics]) => topics));
}

interface Recent {
  id: string;
  status: string;
  version: string;
  database: string;
  environment: string;
  migrates: boolean;
}

/**
 * What was committed lately, for the waiters of a sender that died between its commit and its NOTIFY (HT-102). Waiters rely on it: they look
 * by themselves only once a minute. EXPLAIN jobs are made with their request; of preflight jobs there are few, and all of them are told.
 */
async function recentNews(client: pg.Client, lastMs: number): Promise<News> {
  const moved = await client.query<Recent>({
    name: 'recently-moved',
    text: `select id, status, version::text, database, environment, operation in ${mutatingMigrations} as migrates from requests
           where updated_at > clock_timestamp() - $1 * interval '1 millisecond' order by updated_at desc limit 10000`,
    values: [lastMs],
  });
  const asked = await client.query<{ id: string; state: string; database: string; environment: string }>({
    name: 'preflight-jobs',
    text: 'select id, state, database, environment from preflight_jobs where expires_at > clock_timestamp() limit 10000',
  });
  const news: News = new Map();
  for (const { id, status, version, database, environment, migrates } of moved.rows) {
    // The end of a migration lets the next one run.
    const jobs = status === 'dispatched' || version === '1' || migrates ? [topic.jobs(database, environment)] : [];
    news.set(`${id} ${version}`, [topic.request(id), topic.outcome(id), ...jobs]);
  }
  for (const { id, state, database, environment } of asked.rows)
    news.set(`${id} ${state}`, [state === 'pending' ? topic.jobs(database, environment) : topic.preflight(id)]);
  return news;
}
