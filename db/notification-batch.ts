import { outsideCall } from './call-limit.js';
import type { Database } from './client.js';

/** For what callers and agents wait for. */
export const callersChannel = 'svc';
/** For the jobs of workers: most of what is committed is no news for them, and would wake them all the same. */
export const workersChannel = 'svc_work';

export type Channel = typeof callersChannel | typeof workersChannel;

const maxPayloadBytes = 7999;
const maxPending = 10_000;
/** The topic that stands for all, when too many wait to be sent. */
export const everything = '*';
/** News of a request's status waits at most this long for the next NOTIFY, since each NOTIFY wakes a session and a process per listener. */
const longestDelayMs = 50;

export interface BatchOptions {
  /** Sends NOTIFY, never inside a transaction that makes a move. */
  database: Database;
  onError?: (error: unknown) => void;
}

interface Sending extends BatchOptions {
  sender: string;
  channelsOf(topic: string): readonly Channel[];
  isUrgent(topic: string): boolean;
  /** Sends on the listening connection, which so hears itself without being woken; null while it cannot. */
  sendOnListener(text: string, values: unknown[]): Promise<unknown> | null;
}

/** One NOTIFY runs at a time. The next carries everything committed meanwhile. */
export function batchSender({ database, onError, sender, channelsOf, isUrgent, sendOnListener }: Sending) {
  const pending = new Map<Channel, Set<string>>();
  let sending: Promise<void> | undefined;
  let delayed: NodeJS.Timeout | undefined;
  const onPool = (values: unknown[]) => database.query(notify, values);
  const send = (values: unknown[]) => sendOnListener(notify, values)?.catch(() => onPool(values)) ?? onPool(values);
  const drain = async () => {
    while (pending.size > 0) {
      const payloads = [...pending].map(([channel, names]) => [channel, takePayload(names, sender)] as const);
      for (const [channel, names] of pending) if (names.size === 0) pending.delete(channel);
      const values = [payloads.map(([channel]) => channel), payloads.map(([, payload]) => payload)];
      await send(values).catch((error: unknown) => onError?.(error));
    }
    sending = undefined;
  };
  const start = () => {
    clearTimeout(delayed);
    delayed = undefined;
    // It outlives the call whose news begins it.
    if (pending.size > 0) sending ??= outsideCall(drain);
  };
  return {
    add(topics: string[]) {
      for (const name of topics) for (const channel of channelsOf(name)) note(pending, channel, name);
      if (topics.some(isUrgent)) start();
      else delayed ??= setTimeout(start, longestDelayMs);
    },
    idle: async () => {
      start();
      await sending;
    },
  };
}

const notify = 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as news(channel, payload)';

function note(pending: Map<Channel, Set<string>>, channel: Channel, name: string): void {
  const names = pending.get(channel) ?? new Set();
  pending.set(channel, names);
  if (names.has(everything)) return;
  if (names.size < maxPending) return void names.add(name);
  names.clear();
  names.add(everything);
}

function takePayload(pending: Set<string>, sender: string): string {
  const taken = [sender];
  let bytes = Buffer.byteLength(sender);
  for (const name of pending) {
    bytes += Buffer.byteLength(name) + 1;
    if (bytes > maxPayloadBytes && taken.length > 1) break;
    taken.push(name);
    pending.delete(name);
  }
  return taken.join('\n');
}
