import type { Queryable } from '../../db/client.js';
import { findSnapshot, findSnapshotTime, listSnapshotTimes, type SnapshotTime } from '../../db/snapshots.js';
import type { Pair } from '../../domain/caller.js';
import type { SchemaSnapshot } from '../../domain/snapshot.js';
import { type Ahead, guessAhead } from '../http/ahead.js';

export interface KnownSnapshot extends SnapshotTime {
  snapshot: SchemaSnapshot;
}

/** The times of the snapshots of the pairs that were asked for last: a call's body, which names its pair, is read after its credential. */
export const snapshotsAhead = guessAhead(() => (recent.size === 0 ? null : (db) => listSnapshotTimes(db, [...recent.values()])));

/**
 * The pair's current good snapshot, null before the first. Queries the instant each time, unless `call` brings it, but reads the content (up to 10 MiB)
 * once.
 */
export async function currentSnapshot(
  db: Queryable,
  pair: Pair,
  call: { ahead?: Ahead | null } = {},
): Promise<KnownSnapshot | null> {
  const kept = keptOf(db);
  const key = keyOf(pair);
  keep(recent, key, pair, maxRecent);
  const ahead = await snapshotsAhead.take(call);
  const time = ahead?.find((one) => keyOf(one) === key) ?? (await findSnapshotTime(db, pair));
  const known = kept.get(key);
  kept.delete(key);
  if (time === null) return null;
  const found = known?.collectedAt === time.collectedAt ? { ...known, ...time } : await findSnapshot(db, pair);
  if (found === null) return null;
  keep(kept, key, found, maxKept);
  return found;
}

const keyOf = ({ database, environment }: Pair) => JSON.stringify([database, environment]);

const maxKept = 20;
const maxRecent = 8;

const recent = new Map<string, Pair>();

/** As the newest; the least recently used one goes. */
function keep<T>(kept: Map<string, T>, key: string, value: T, most: number): void {
  kept.delete(key);
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}

const keptByDatabase = new WeakMap<Queryable, Map<string, KnownSnapshot>>();

function keptOf(db: Queryable): Map<string, KnownSnapshot> {
  const kept = keptByDatabase.get(db) ?? new Map<string, KnownSnapshot>();
  keptByDatabase.set(db, kept);
  return kept;
}
