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

/** An attacker may have planted any number of purges with one hash; the unique index allows one. */
const mostPurges = 100;

export async function readLogFrame(snapshot: Snapshot): Promise<LogFrame> {
  const [head] = await snapshot.rows<NonNullable<ChainContext['head']>>(
    `select seq, event_hash as "eventHash", sealed_at as "sealedAt", key_id as "keyId", signature from audit_head`,
  );
  const [first] = await snapshot.rows<{ prev: string | null }>(
    'select prev_hash as prev from audit_events where seq is not null order by seq, position limit 1',
  );
  const purges = await snapshot.rows<ChainContext['purges'][number]>(
    `select last_purged_hash as "lastPurgedHash", purged_before as "purgedBefore", retained_count as "retainedCount", key_id as "keyId", signature
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

/** Small enough that even the longest texts of SQL fit in memory, and that other calls get their turn between two. */
const batch = 250;

/**
 * All sealed events in order of `seq`, in batches. A cursor and not pages by `seq`: whoever drops the unique index could hide a second event
 * with the same `seq` behind the end of a page. The next batch is on its way while the caller looks at one.
 */
export async function* sealedBatches(snapshot: Snapshot): AsyncGenerator<SealedEvent[]> {
  const fetch = () => snapshot.rows<SealedEvent>(`fetch ${batch} from audit_walk`);
  await snapshot.rows(
    `declare audit_walk no scroll cursor for select ${auditEventKeys.join(', ')} from audit_events where seq is not null order by seq, position`,
  );
  let coming = fetch();
  for (let events = await coming; events.length > 0; events = await coming) {
    coming = fetch();
    // Its failure is seen when it is awaited, if the caller goes on.
    coming.catch(() => {});
    yield events;
  }
}
