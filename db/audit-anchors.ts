import type { Queryable, Transaction } from './client.js';

/** A signed checkpoint that the anchor outside is to be given (AU-87). */
export interface WaitingAnchor {
  seq: number;
  eventHash: string;
  /** The tree up to and including the checkpoint, as a signed note. Its signature must be checked before it is believed. */
  note: string;
}

export interface StoredAnchor extends WaitingAnchor {
  state: 'waiting' | 'anchored' | 'covered';
  createdAt: number;
  attempts: number;
  lastError: string | null;
  coveredBy: number | null;
  answer: Uint8Array | null;
  answerTruncated: boolean;
  answeredAt: number | null;
  /** Whether the event of this `seq` has this hash. */
  isOfEvent: boolean;
}

/** In the transaction that seals the checkpoints. */
export function insertAnchors(tx: Transaction, anchors: readonly WaitingAnchor[]): void {
  if (anchors.length === 0) return;
  tx.send(
    `insert into audit_anchors (seq, event_hash, note)
     select seq, event_hash, note from unnest($1::bigint[], $2::text[], $3::text[]) anchor(seq, event_hash, note)`,
    [anchors.map(({ seq }) => seq), anchors.map(({ eventHash }) => eventHash), anchors.map(({ note }) => note)],
  );
}

/**
 * The oldest waiting checkpoint, whose `seq` names the workflow, if nobody has asked Temporal for it within `againMs`. Only one caller gets
 * it. Null if nothing waits or it was asked for lately.
 */
export async function takeToStart(db: Queryable, againMs: number): Promise<number | null> {
  const [row] = await db.query<{ seq: number }>(
    `update audit_anchors set asked_at = clock_timestamp()
     where seq = (select seq from audit_anchors where state = 'waiting' order by seq limit 1) and state = 'waiting'
       and (asked_at is null or asked_at < clock_timestamp() - $1::bigint * interval '1 millisecond') returning seq`,
    [againMs],
  );
  return row?.seq ?? null;
}

/** Temporal did not take it: the next look asks again. */
export async function returnToStart(db: Queryable, seq: number): Promise<void> {
  await db.query(`update audit_anchors set asked_at = null where seq = $1 and state = 'waiting'`, [seq]);
}

/** The newest waiting checkpoint, with one attempt more; null unless that of `seq` still waits. */
export async function beginAttempt(db: Queryable, seq: number): Promise<WaitingAnchor | null> {
  const [row] = await db.query<WaitingAnchor>(
    `update audit_anchors set attempts = attempts + 1
     where seq = (select seq from audit_anchors where state = 'waiting' order by seq desc limit 1) and state = 'waiting'
       and exists (select from audit_anchors where seq = $1 and state = 'waiting')
     returning seq, event_hash as "eventHash", note`,
    [seq],
  );
  return row ?? null;
}

export async function recordFailure(db: Queryable, seq: number, error: string): Promise<void> {
  await db.query(`update audit_anchors set last_error = $2 where seq = $1 and state = 'waiting'`, [seq, error]);
}

/** Keeps the answer. Older checkpoints that wait are covered by this one, whose tree contains theirs. */
export async function recordAnswer(
  db: Queryable,
  seq: number,
  { answer, isTruncated }: { answer: Uint8Array; isTruncated: boolean },
): Promise<void> {
  await db.query(
    `with anchored as (
       update audit_anchors set state = 'anchored', answer = $2, answer_truncated = $3, answered_at = clock_timestamp(), covered_by = null
       where seq = $1 and state <> 'anchored' returning seq
     )
     update audit_anchors older set state = 'covered', covered_by = anchored.seq
     from anchored where older.state = 'waiting' and older.seq < anchored.seq`,
    [seq, answer, isTruncated],
  );
}

/** Newest first. */
export async function listAnchors(
  db: Queryable,
  { seq, limit, offset }: { seq: number | null; limit: number; offset: number },
): Promise<StoredAnchor[]> {
  const rows = await db.query<StoredAnchor>(
    `select a.seq, a.event_hash as "eventHash", a.note, a.state, a.created_at as "createdAt", a.attempts, a.last_error as "lastError",
       a.covered_by as "coveredBy", a.answer, a.answer_truncated as "answerTruncated", a.answered_at as "answeredAt",
       coalesce(e.event_type = 'audit.signed_checkpoint' and e.event_hash = a.event_hash, false) as "isOfEvent"
     from audit_anchors a left join audit_events e on e.seq = a.seq
     where $1::bigint is null or a.seq = $1 order by a.seq desc limit $2 offset $3`,
    [seq, limit, offset],
  );
  return rows.map((row) => ({ ...row, answer: row.answer === null ? null : new Uint8Array(row.answer) }));
}
