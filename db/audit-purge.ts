import { auditEventKeys, type SealedEvent } from '../domain/audit/event.js';
import type { PurgeStatement } from '../domain/audit/signed-texts.js';
import { purgeBlocks } from './audit-blocks.js';
import { instantOf } from './audit-seal.js';
import type { Transaction } from './client.js';

export interface PurgeableCheckpoint {
  checkpoint: SealedEvent;
  /** Events created by then are past their retention. In the form of `created_at`, by the clock of the database. */
  purgedBefore: string;
}

/**
 * The checkpoint up to which events may go: the newest below `before` that is as old as the retention, but not so new that more than about `most`
 * events would go at once. Null = nothing is that old.
 */
export async function findPurgeable(
  tx: Transaction,
  { retentionSecs, most, before }: { retentionSecs: number; most: number; before: number },
): Promise<PurgeableCheckpoint | null> {
  const [row] = await tx.query<SealedEvent & { purgedBefore: string }>(
    `select ${auditEventKeys.map((key) => `e.${key}`).join(', ')}, cutoff.at as "purgedBefore"
     from audit_events e,
       (select min(seq) + $2 as seq from audit_events where seq is not null) as bound,
       (select ${instantOf('clock_timestamp() - make_interval(secs => $1)')} as at) as cutoff
     where e.event_type = 'audit.signed_checkpoint' and e.seq is not null and e.seq < $3 and e.created_at <= cutoff.at
     order by e.seq > bound.seq, case when e.seq > bound.seq then e.seq else -e.seq end limit 1`,
    [retentionSecs, most, before],
  );
  if (row === undefined) return null;
  const { purgedBefore, ...checkpoint } = row;
  return { checkpoint, purgedBefore };
}

/**
 * The first event up to the checkpoint that is younger than the retention, which a clock that was behind for a while makes possible; null if there
 * is none. How old an event from the future is, nobody can tell: such an event holds up nothing.
 */
export async function findYounger(tx: Transaction, { checkpoint, purgedBefore }: PurgeableCheckpoint): Promise<number | null> {
  const [row] = await tx.query<{ seq: number | null }>(
    `select min(seq) as seq from audit_events
     where seq <= $1 and created_at > $2 and created_at <= ${instantOf('clock_timestamp()')}`,
    [checkpoint.seq, purgedBefore],
  );
  return row?.seq ?? null;
}

/** Deletes all events up to this `seq`, and the anchors of their checkpoints. The triggers of the tables let them go because the row of the purge is written first (AU-3, AU-46). */
export async function purgeEvents(
  tx: Transaction,
  lastPurgedSeq: number,
  { lastPurgedHash, purgedBefore, retainedCount }: PurgeStatement,
  { keyId, signature }: { keyId: string; signature: string },
): Promise<number> {
  await tx.query(
    `insert into audit_purges (last_purged_seq, last_purged_hash, purged_before, retained_count, key_id, signature)
     values ($1, $2, $3, $4, $5, $6)`,
    [lastPurgedSeq, lastPurgedHash, purgedBefore, retainedCount, keyId, signature],
  );
  tx.send('delete from audit_anchors where seq <= $1', [lastPurgedSeq]);
  purgeBlocks(tx, lastPurgedSeq);
  const [gone] = await tx.query<{ count: number }>(
    'with gone as (delete from audit_events where seq <= $1 returning 1) select count(*) as count from gone',
    [lastPurgedSeq],
  );
  return gone?.count ?? 0;
}
