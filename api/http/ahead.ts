import type { Vouched } from '../../db/client.js';
import type { Notifications } from '../../db/notifications.js';
import { isUuid } from '../../lib/uuid.js';

/** A handler's first read, by the id in the path, sent while the caller is authenticated, if the credential was accepted before. */
export interface Ahead {
  /** Sends the read; nothing if the id can name nothing. Never rejects. */
  send(db: Vouched): Promise<void>;
  /** Null once it was taken, if it was not sent, if it is too old, or if its topic was notified since: whoever waits only from now on does not hear of that. */
  take(): Promise<unknown> | null;
  close(): void;
}

/** The first read of a route's handler. */
export interface ReadAhead {
  of(id: string | null | undefined, notifications: Pick<Notifications, 'subscribe'>): Ahead;
}

/** How long the body of a call may take before the handler reads again. */
const freshMs = 100;

/**
 * A read that shares the credential's round trip. It must have no side effects, because the caller may yet be refused. `take` returns the result
 * once, while it is fresh; otherwise, or if the call did not come by HTTP, it reads now. Of a call that may wait, `topic` names what is then waited for.
 */
export function readAhead<T>(
  read: (db: Vouched, id: string) => Promise<T>,
  topic?: (id: string) => string,
): ReadAhead & { take(call: Took, db: Vouched, id: string): Promise<T> } {
  return {
    of: (id, notifications) => {
      if (id == null || !isUuid(id)) return nothingAhead;
      return sendable(
        (db) => read(db, id),
        (heard) => (topic === undefined ? () => {} : notifications.subscribe(topic(id), heard)),
      );
    },
    take: (call, db, id) => taken<T>(call) ?? read(db, id),
  };
}

/** The same of what may help a call, whatever its path names. `find` gives the read, or null if there is nothing to read. */
export function guessAhead<T>(
  find: () => ((db: Vouched) => Promise<T>) | null,
): ReadAhead & { take(call: Took): Promise<T> | null } {
  return {
    of: () => {
      const read = find();
      return read === null ? nothingAhead : sendable(read, () => () => {});
    },
    take: taken<T>,
  };
}

interface Took {
  ahead?: Ahead | null;
}

const taken = <T>(call: Took) => (call.ahead?.take() ?? null) as Promise<T> | null;

export const nothingAhead: Ahead = { send: async () => {}, take: () => null, close: () => {} };

function sendable(read: (db: Vouched) => Promise<unknown>, listen: (heard: () => void) => () => void): Ahead {
  const sent = along(read);
  let until = 0;
  let overtaken = false;
  let close = () => {};
  return {
    close: () => close(),
    send: (db) => {
      close();
      close = listen(() => {
        overtaken = true;
      });
      until = performance.now() + freshMs;
      return sent.send(db);
    },
    take: () => (performance.now() < until && !overtaken ? sent.take() : null),
  };
}

/** A read that shares another read's connection. `send` never rejects; `take` returns the result once, null if nothing was sent. */
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
