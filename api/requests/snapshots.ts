import type { Queryable } from '../../db/client.js';
import { findSnapshot, findSnapshotTime, type SnapshotTime } from '../../db/snapshots.js';
import type { Pair } from '../../domain/caller.js';
import type { SchemaSnapshot } from '../../domain/snapshot.js';

export interface KnownSnapshot extends SnapshotTime {
  snapshot: SchemaSnapshot;
}

/** The pair's current good snapshot, null before the first. Queries the instant each time, but reads the content (up to 10 MiB) once. */
export async function currentSnapshot(db: Queryable, pair: Pair): Promise<KnownSnapshot | null> {
  const kept = keptOf(db);
  const key = JSON.stringify([pair.database, pair.environment]);
  const time = await findSnapshotTime(db, pair);
  const known = kept.get(key);
  kept.delete(key);
  if (time === null) return null;
  const found = known?.collectedAt === time.collectedAt ? { ...known, ...time } : await findSnapshot(db, pair);
  if (found === null) return null;
  kept.set(key, found);
  const [oldest] = kept.keys();
  if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
  return found;
}

const maxKept = 20;

/** The least recently used pair comes first. */
const keptByDatabase = new WeakMap<Queryable, Map<string, KnownSnapshot>>();

function keptOf(db: Queryable): Map<string, KnownSnapshot> {
  const kept = keptByDatabase.get(db) ?? new Map<string, KnownSnapshot>();
  keptByDatabase.set(db, kept);
  return kept;
}
