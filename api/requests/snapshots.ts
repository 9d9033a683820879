import { LRUCache } from 'lru-cache';
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
  recent.set(key, pair);
  const ahead = await snapshotsAhead.take(call);
  const time = ahead?.find((one) => keyOf(one) === key) ?? (await findSnapshotTime(db, pair));
  const known = kept.get(key);
  kept.delete(key);
  if (time === null) return null;
  const found = known?.collectedAt === time.collectedAt ? { ...known, ...time } : await findSnapshot(db, pair);
  if (found !== null) kept.set(key, found);
  return found;
}

const keyOf = ({ database, environment }: Pair) => JSON.stringify([database, environment]);

const recent = new LRUCache<string, Pair>({ max: 8 });
const keptByDatabase = new WeakMap<Queryable, LRUCache<string, KnownSnapshot>>();

function keptOf(db: Queryable): LRUCache<string, KnownSnapshot> {
  const kept = keptByDatabase.get(db) ?? new LRUCache<string, KnownSnapshot>({ max: 20 });
  keptByDatabase.set(db, kept);
  return kept;
}
