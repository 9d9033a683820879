import type { ChainContext } from '../domain/audit/chain.js';
import { auditEventKeys, type SealedEvent } from '../domain/audit/event.js';
import type { Snapshot } from './snapshot.js';

/** What verification compares the events with, of the same snapshot as they. */
export interface LogFrame {
  head: ChainContext['head'];
  /** Those that name the `prev_hash` of the first sealed event or, without any, the hash of the head. */
  purges: ChainContext['purges'];
  sealed: number;
  unsealed: number;
  oldestUnsealedAt: string | null;
  usersExist: boolean;
}

/** No number of a valid log is larger, and a larger one must be found wrong like any other, not end the walk. */
const safe = (column: string, name = column) => `least(${column}, ${Number.MAX_SAFE_INTEGER}) as "${name}"`;

const columns = auditEventKeys.map((key) => (key === 'seq' ? safe(key) : key)).join(', ');

/** An attacker may have planted any number of purges with one hash; the unique index allows one. */
const mostPurges = 100;

export async function readLogFrame(snapshot: Snapshot): Promise<LogFrame> {
  const [head] = await snapshot.rows<NonNullable<ChainContext['head']>>(
    `select ${safe('seq')}, event_hash as "eventHash", sealed_at as "sealedAt", key_id as "keyId", signature from audit_head`,
  );
  const [first] = await snapshot.rows<{ prev: string | null }>(
    'select prev_hash as prev from audit_events where seq is not null order by seq, position limit 1',
  );
  const purges = await snapshot.rows<ChainContext['purges'][number]>(
    `select last_purged_hash as "lastPurgedHash", purged_before as "purgedBefore", ${safe('retained_count', 'retainedCount')}, key_id as "keyId", signature
     from audit_purges where last_purged_hash = $1 limit ${mostPurges}`,
    [first === undefined ? (head?.eventHash ?? null) : first.prev],
  );
  const [counts] = await snapshot.rows<Omit<LogFrame, 'head' | 'purges'>>(
    `select (select count(*) from audit_events where seq is not null) as sealed, u.unsealed, u.oldest as "oldestUnsealedAt",
       exists (select from users) as "usersExist"
     from (select count(*) as unsealed, min(created_at) as oldest from audit_events where seq is null) as u`,
  );
  return { head: head ?? null, purges, ...counts! };
}

/** Each batch is a round trip, and other calls get their turn between two: with 250 events in each, a walk took a third more CPU than with 1000. More is more memory. */
const mostAtOnce = 500;
const fewestAtOnce = 50;
/** Long SQL texts make few events as large as many, so a batch aims at this many characters, estimated from the previous batch. */
const batchCharacters = 1024 * 1024;

/**
 * All sealed events in order of `seq`, in batches, by a cursor: with pages by `seq`, whoever drops the unique index could hide a duplicate `seq`
 * behind a page's end. The next batch is fetched while the caller works on one, which is emptied afterwards.
 */
export async function* sealedBatches(snapshot: Snapshot): AsyncGenerator<SealedEvent[]> {
  const fetch = (count: number) => snapshot.rows<SealedEvent>(`fetch ${count} from audit_walk`);
  await snapshot.rows(
    `declare audit_walk no scroll cursor for select ${columns} from audit_events where seq is not null order by audit_events.seq, position`,
  );
  let coming = fetch(fewestAtOnce);
  for (let events = await coming; events.length > 0; events = await coming) {
    coming = fetch(countLike(events));
    // Its failure is seen when it is awaited, if the caller goes on.
    coming.catch(() => {});
    yield events;
    // Each result leads to the next, so once one of them has grown old, V8's minor collections keep all later rows: without this, they kept 2 to 3
    // of every 6 MB allocated, and the heap of a process grew to four times its size before a full collection.
    events.length = 0;
  }
}

function countLike(events: readonly SealedEvent[]): number {
  const characters = events.reduce((sum, { detail_raw: text }) => sum + 500 + (text?.length ?? 0), 0);
  return Math.max(fewestAtOnce, Math.min(mostAtOnce, Math.floor((batchCharacters / characters) * events.length)));
}
