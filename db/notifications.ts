import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { keepListening, type ListenOptions, type News } from './listener.js';
import { mutatingMigrations } from './migration-pairs.js';
import {
  type BatchOptions,
  batchSender,
  type Channel,
  callersChannel,
  everything,
  workersChannel,
} from './notification-batch.js';

/** One topic per thing to wait for. A notification is only a hint: waiters query again (D15). */
export const topic = {
  request: (id: string) => `r:${id}`,
  /** A move to any status except `dispatched` and `running`, which callers that wait for a result can skip. */
  outcome: (id: string) => `o:${id}`,
  jobs: (database: string, environment: string) => `j:${database}/${environment}`,
  /** A cancel of something that this agent runs. */
  cancels: (agentId: string) => `c:${agentId}`,
  /** The answer to a preflight job. */
  preflight: (id: string) => `p:${id}`,
  /** What its client does in an MCP session while calls run: it cancels one, answers a question, or ends the session. */
  mcp: (sessionId: string) => `m:${sessionId}`,
  /** The stream of an MCP call has something new. Apart from the session's other calls, each of which would look for its end. */
  mcpStream: (callId: string) => `s:${callId}`,
  /** A token of this user or agent was revoked, or its user changed. */
  credentials: (subjectId: string) => `k:${subjectId}`,
  outbox: 'outbox',
  deliveries: 'deliveries',
  cards: 'cards',
  onboardings: 'onboardings',
  generation: 'generation',
} as const;

const aRequest = topic.request('');
const isUrgent = (name: string) => !name.startsWith(aRequest);

const forWorkers: ReadonlySet<string> = new Set([topic.outbox, topic.deliveries, topic.cards, topic.onboardings]);
const bothChannels: readonly Channel[] = [callersChannel, workersChannel];

function channelsOf(name: string): readonly Channel[] {
  if (name === topic.generation) return bothChannels;
  return forWorkers.has(name) ? [workersChannel] : [callersChannel];
}

export interface Notifications {
  /** Calls `wake` on each notification of the topic, until the returned function is called. */
  subscribe(name: string, wake: () => void): () => void;
  /** False while the listening connection is lost: nothing tells of what other processes commit. When it is back, all are woken. */
  hears(): boolean;
  /** Calls `tell` with the id of each request that was created or moved, or with null when any may have. Until the returned function is called. */
  watchRequests(tell: (id: string | null) => void): () => void;
  /** Wakes waiters of this process immediately, and those of other processes through the database, in batches. */
  publish(topics: string[]): void;
  close(): Promise<void>;
}

export interface NotificationOptions extends BatchOptions, Pick<ListenOptions, 'onLost' | 'onListening'> {
  url: string;
  applicationName: string;
  /** Both if absent. */
  channels?: readonly Channel[];
}

/** Listens on a dedicated connection, reconnects without limit, and fans notifications out in memory (OP-71). */
export function openNotifications(options: NotificationOptions): Notifications {
  const subscribers = new Map<string, Set<() => void>>();
  const watchers = new Set<(id: string | null) => void>();
  const tellAll = (id: string | null) => {
    for (const tell of [...watchers]) tell(id);
  };
  const wakeTopic = (name: string) => {
    if (name === everything) return wakeAll();
    for (const wake of [...(subscribers.get(name) ?? [])]) wake();
    if (name.startsWith(aRequest)) tellAll(name.slice(aRequest.length));
  };
  const wakeAll = () => {
    for (const wakes of [...subscribers.values()]) for (const wake of [...wakes]) wake();
    tellAll(null);
  };
  // The first line of each payload. A sender has already woken its own waiters.
  const sender = randomUUID() as string;
  const channels = options.channels ?? bothChannels;
  // Jobs of workers look by themselves every 2 s.
  const recent = channels.includes(callersChannel) ? recentNews : null;
  const listener = keepListening({ ...options, channels, sender, recent, wakeTopic, wakeAll });
  const batch = batchSender({ ...options, sender, channelsOf, isUrgent, sendOnListener: listener.query });
  return {
    subscribe: (name, wake) => subscribe(subscribers, name, wake),
    hears: listener.hears,
    watchRequests(tell) {
      const entry = (id: string | null) => tell(id);
      watchers.add(entry);
      return () => watchers.delete(entry);
    },
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

interface Recent {
  id: string;
  status: string;
  version: string;
  database: string;
  environment: string;
  migrates: boolean;
  /** The agent that runs it, if a cancel was asked for. */
  told_agent: string | null;
}

/**
 * What was committed lately, for waiters whose sender died between its commit and its NOTIFY (HT-102). Waiters rely on it: without
 * notifications they query once a minute or never. EXPLAIN jobs are created with their request. Preflight jobs are few, so all are
 * reported. The bound is `statement_timestamp()`, as everywhere that an index is to find rows by an instant: one that is not stable would be
 * compared with every row.
 */
export async function recentNews(client: pg.Client, lastMs: number): Promise<News> {
  const moved = await client.query<Recent>({
    name: 'recently-moved',
    text: `select id, status, version::text, database, environment, operation in ${mutatingMigrations} as migrates,
             case when cancel_requested_at is not null and status = 'running' then claimed_by end as told_agent from requests
           where updated_at > statement_timestamp() - $1 * interval '1 millisecond' order by updated_at desc limit 10000`,
    values: [lastMs],
  });
  const asked = await client.query<{ id: string; state: string; database: string; environment: string }>({
    name: 'preflight-jobs',
    text: 'select id, state, database, environment from preflight_jobs where expires_at > clock_timestamp() limit 10000',
  });
  const news: News = new Map();
  for (const { id, status, version, database, environment, migrates, told_agent: agent } of moved.rows) {
    // The end of a migration lets the next one run.
    const jobs = status === 'dispatched' || version === '1' || migrates ? [topic.jobs(database, environment)] : [];
    const cancels = agent === null ? [] : [topic.cancels(agent)];
    news.set(`${id} ${version}`, [topic.request(id), topic.outcome(id), ...jobs, ...cancels]);
  }
  for (const { id, state, database, environment } of asked.rows)
    news.set(`${id} ${state}`, [state === 'pending' ? topic.jobs(database, environment) : topic.preflight(id)]);
  return news;
}
