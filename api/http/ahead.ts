import type { Vouched } from '../../db/client.js';
import { isUuid } from '../../lib/uuid.js';

/** What a call's handler reads first by the id in its path, on its way before the caller is known. */
export interface Ahead {
  /** Sends the read; nothing if the id can name nothing. Never rejects. */
  send(db: Vouched): Promise<void>;
  /** Null once it was taken, if it was not sent, or if it is too old. */
  take(): Promise<unknown> | null;
}

/** The first read of a route's handler. */
export interface ReadAhead {
  of(id: string | null | undefined): Ahead;
}

/** How long the body of a call may take before the handler reads again. */
const freshMs = 100;

/**
 * A read that shares a round trip with the read of the credential. It must change nothing and tell nobody, for the caller may turn out to be a stranger.
 * `take` brings what was read, once; whoever comes later, or not by HTTP, reads then.
 */
export function readAhead<T>(
  read: (db: Vouched, id: string) => Promise<T>,
): ReadAhead & { take(call: { ahead?: Ahead | null }, db: Vouched, id: string): Promise<T> } {
  return {
    of: (id) => sendable(id, read),
    take: (call, db, id) => (call.ahead?.take() as Promise<T> | null | undefined) ?? read(db, id),
  };
}

function sendable(id: string | null | undefined, read: (db: Vouched, id: string) => Promise<unknown>): Ahead {
  if (id == null || !isUuid(id)) return { send: async () => {}, take: () => null };
  const sent = along((db) => read(db, id));
  let until = 0;
  return {
    send: (db) => {
      until = performance.now() + freshMs;
      return sent.send(db);
    },
    take: () => (performance.now() < until ? sent.take() : null),
  };
}

/** A read that shares the connection of another one. `send` never rejects; `take` brings what was read, once, and is null if nothing was sent. */
export function along<T>(read: (db: Vouched) => Promise<T>): { send(db: Vouched): Promise<void>; take(): Promise<T> | null } {
  let found: Promise<T> | null = null;
  return {
    send: async (db) => {
      found = read(db);
      await found.catch(() => {});
    },
    take: () => {
      const taken = found;
      found = null;
      return taken;
    },
  };
}
