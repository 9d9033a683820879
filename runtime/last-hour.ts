import type { Logger } from 'pino';
import { countByMinute, type Load, type MinuteCounts, readLoad } from '../db/by-minute.js';
import type { Database } from '../db/client.js';
import { repeat } from './repeat.js';

export interface Minute extends MinuteCounts {
  /** Null for a minute in which this process did not look. */
  load: Omit<Load, 'at'> | null;
}

export interface LastHour {
  /** The last 60 minutes, the one that runs included, oldest first. */
  read(): Promise<Minute[]>;
  close(): Promise<void>;
}

const kept = 60;
const minuteMs = 60_000;
/** Callers within it get the same answer. */
const freshMs = 1000;

/**
 * Keeps what the last hour was like. Counts are read when they are asked for: the first time of the whole hour, then of the minutes since. How busy the
 * agents are is stored nowhere, so each process looks once a minute.
 */
export function openLastHour({ database, log }: { database: Database; log: Logger }, everyMs = minuteMs): LastHour {
  const loads = new Map<number, Load>();
  const counts = new Map<number, MinuteCounts>();
  let countedAt = Number.NEGATIVE_INFINITY;
  let counting: Promise<void> | null = null;
  const look = async () => {
    const load = await readLoad(database);
    keep(loads, load);
  };
  const looking = repeat({ everyMs, work: look, onError: (error) => log.warn({ error: String(error) }, 'load not read') });
  looking.wake();
  const count = async () => {
    const startedAt = performance.now();
    // What was begun before the last look may have been committed after it.
    const minutes = Math.min(kept, Math.ceil((startedAt - countedAt) / minuteMs) + 1);
    for (const one of await countByMinute(database, minutes)) keep(counts, one);
    countedAt = startedAt;
  };
  return {
    async read() {
      if (performance.now() - countedAt > freshMs) {
        counting ??= count().finally(() => {
          counting = null;
        });
        await counting;
      }
      return [...counts.values()].map((one) => ({ ...one, load: loads.get(one.at) ?? null }));
    },
    close: looking.stop,
  };
}

/** In the order of minutes, so that the first is the oldest. */
function keep<One extends { at: number }>(ring: Map<number, One>, one: One): void {
  ring.set(one.at, one);
  for (const oldest of ring.keys()) {
    if (ring.size <= kept) break;
    ring.delete(oldest);
  }
}
