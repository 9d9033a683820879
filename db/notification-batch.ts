import type { Database } from './client.js';

export const channel = 'svc';
const maxPayloadBytes = 7999;
const maxPending = 10_000;

export interface BatchOptions {
  /** Sends NOTIFY, never inside a transaction that makes a move. */
  database: Database;
  onError?: (error: unknown) => void;
}

/** One NOTIFY runs at a time. The next carries everything committed meanwhile. */
export function batchSender(options: BatchOptions, sender: string) {
  const pending = new Set<string>();
  let sending: Promise<void> | undefined;
  const drain = async () => {
    while (pending.size > 0) {
      const payload = takePayload(pending, sender);
      await options.database
        .query('select pg_notify($1, $2)', [channel, payload])
        .catch((error: unknown) => options.onError?.(error));
    }
    sending = undefined;
  };
  return {
    add(topics: string[]) {
      for (const name of topics) if (pending.size < maxPending) pending.add(name);
      sending ??= drain();
    },
    idle: async () => {
      await sending;
    },
  };
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
