import { outsideDatabaseWork } from '../../db/call-limit.js';
import type { Queryable } from '../../db/client.js';
import { findByKey } from '../../db/creation.js';
import { findShown } from '../../db/shown-request.js';
import { refusal } from '../../domain/errors.js';
import type { StoredRequest } from '../../domain/request/types.js';

/** The key's request as it is now, and the fingerprint of the body that created it. */
export interface Existing {
  fingerprint: string;
  request: StoredRequest;
}

/** RQ-30: the request that already has the key, or null. */
export async function findExisting(database: Queryable, requester: string, key: string): Promise<Existing | null> {
  const taken = await findByKey(database, requester, key);
  const shown = taken === undefined ? undefined : await findShown(database, taken.id);
  return taken === undefined || shown === undefined ? null : { fingerprint: taken.fingerprint, request: shown.request };
}

/** Creations with one key queue up. However many there are, they run one lookup at a time and hold one connection (RQ-34). */
export interface KeyLines {
  /**
   * Calls `make` if `look` finds nothing. Callers queued before the lookup share its result. Waiting uses none of the call's time for
   * database work. Throws 503 if the client goes away or the wait is too long.
   */
  take<Made>(
    name: string,
    signal: AbortSignal,
    how: { look: () => Promise<Existing | null>; make: () => Promise<Made> },
  ): Promise<{ found: Existing } | { made: Made }>;
}

/** Leaves 5 s for the work itself within the 25 s of HT-131. */
const longestWaitMs = 20_000;

/** Ends a wait; null means that it is the caller's turn. */
type Come = (found: Existing | null) => void;

export function createKeyLines(): KeyLines {
  /** Callers behind the current one, in order. A key that nobody uses has no entry. */
  const lines = new Map<string, Set<Come>>();
  const next = (name: string) => {
    const [first] = lines.get(name) ?? [];
    if (first === undefined) lines.delete(name);
    else first(null);
  };
  return {
    async take(name, signal, { look, make }) {
      const before = lines.get(name);
      if (before === undefined) lines.set(name, new Set());
      const passOn = (late: Existing | null) => {
        if (late === null) next(name);
      };
      const told = before === undefined ? null : await outsideDatabaseWork(() => turnIn(before, signal), passOn);
      if (told !== null) return { found: told };
      try {
        // Callers that arrive during the lookup do not share it: they may have changed what it reads.
        const behind = [...(lines.get(name) ?? [])];
        const found = await look();
        if (found === null) return { made: await make() };
        for (const come of behind) come(found);
        return { found };
      } finally {
        next(name);
      }
    },
  };
}

function turnIn(line: Set<Come>, signal: AbortSignal): Promise<Existing | null> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      line.delete(come);
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    };
    const come: Come = (found) => {
      leave();
      resolve(found);
    };
    const giveUp = () => {
      leave();
      reject(refusal('service.unavailable', 'other creations with the same key are not done yet'));
    };
    const timer = setTimeout(giveUp, longestWaitMs);
    signal.addEventListener('abort', giveUp);
    line.add(come);
  });
}
