import { type AuditEvent, auditEventKeys, type SealedEvent } from '../domain/audit/event.js';
import { type LastPurge, lastPurge, logBegin } from './audit-last-purge.js';
import type { Queryable, Transaction } from './client.js';

/** The newest sealed event as a sealer signed it (AU-42). Hashes and signatures are lower-case hex. */
export interface AuditHead {
  seq: number;
  eventHash: string;
  sealedAt: string;
  keyId: string;
  signature: string;
  /** Root of the tree over all events up to this one, and the same key's signature of it. */
  treeRoot: string;
  treeSignature: string;
}

export interface UnsealedEvent extends AuditEvent {
  position: number;
}

export interface TileRow {
  level: number;
  index: number;
  /** Up to 256 hashes of 32 bytes. */
  hashes: Uint8Array;
}

/** What is sealed already, as far as the next batch needs it. */
export interface SealState {
  /** By the database's clock, in the form of `created_at`. */
  now: string;
  head: AuditHead | null;
  /** Lets a log begin: there until the first event is sealed. */
  begin: { keyId: string; signature: string } | null;
  newest: SealedEvent | null;
  purge: LastPurge | null;
  /** The last checkpoint, purged or not: its `seq`, 0 if there is none; and when it, or the event after it if it was purged, was created. */
  checkpoint: { seq: number; at: string | null };
  /** Incomplete tiles at the head's size. */
  edge: TileRow[];
  hasTiles: boolean;
}

const event = auditEventKeys.join(', ');

/**
 * Checkpoints are made where they are sealed, so one that waits was inserted by hand. Sealed, it would be wrong for ever: verification would end
 * at it and see no later change, and no purge would get past it.
 */
const isWaiting = `seq is null and event_type <> 'audit.signed_checkpoint'`;
/** SQL of a timestamp's text as an event has it; such texts are in order of time. */
export const instantOf = (timestamp: string) => `to_char((${timestamp}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const instant = instantOf('clock_timestamp()');

/**
 * Cheap in a log of any size: the index of unsealed events is nearly empty. Only the order keeps PostgreSQL to that index where its statistics
 * are from a time with many unsealed events: without it, a look read all of 200,000 events.
 */
export async function hasUnsealed(db: Queryable): Promise<boolean> {
  return (await db.query(`select 1 from audit_events where ${isWaiting} order by position limit 1`)).length > 0;
}

/**
 * Until the transaction ends, nobody else seals or purges. False if somebody does: it never waits. Every statement of the transaction goes by
 * an index, also where the statistics are from a time with fewer unsealed events: sorting 200,000 of them took 180 ms per batch.
 */
export async function tryLockAudit(tx: Transaction): Promise<boolean> {
  const avoided = ['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin'].map(
    (way) => `set_config('enable_${way}', 'off', true)`,
  );
  const [row] = await tx.query<{ locked: boolean }>(
    `select pg_try_advisory_xact_lock(hashtextextended('audit_seal', 0)) as locked, ${avoided.join(', ')}`,
  );
  return row?.locked === true;
}

/** Must be read under the lock, by statements that begin after it was got. */
export async function readSealState(tx: Transaction): Promise<SealState> {
  const [[base], [newest], edge] = await Promise.all([
    tx.query<Omit<SealState, 'newest' | 'edge'>>(
      `select ${instant} as now, to_jsonb(head) as head, to_jsonb(purge) as purge, exists (select from audit_tiles) as "hasTiles",
         (select jsonb_build_object('keyId', key_id, 'signature', begin_signature) from signing_keys
           where begin_signature is not null order by created_at limit 1) as begin,
         jsonb_build_object('seq', coalesce(last.seq, log.seq), 'at', coalesce(last.created_at,
           (select created_at from audit_events where seq = log.seq + 1))) as checkpoint
       from (${logBegin}) log
       left join (
         select seq, event_hash as "eventHash", sealed_at as "sealedAt", key_id as "keyId", signature, tree_root as "treeRoot",
           tree_signature as "treeSignature" from audit_head
       ) head on true
       left join (${lastPurge}) purge on true
       left join (
         select seq, created_at from audit_events where event_type = 'audit.signed_checkpoint' and seq is not null order by seq desc limit 1
       ) last on true`,
    ),
    tx.query<SealedEvent>(`select ${event} from audit_events where seq is not null order by seq desc limit 1`),
    tx.query<TileRow>(
      `select tile.level, tile.index, tile.hashes from audit_head head cross join generate_series(0, 6) depth
       join audit_tiles tile on tile.level = depth and tile.index = head.seq >> (8 * (depth + 1)) order by tile.level`,
    ),
  ]);
  return { ...base!, newest: newest ?? null, edge };
}

/**
 * The next unsealed events in the order that they get: by `position`, at most `limit` of them and not many more bytes than `maxBytes`.
 *
 * That is the order of AU-13. Each position is drawn when its row is inserted, and a later draw is greater. So the events of one
 * transaction keep their order; and if A committed before B began, A's positions are lower than B's, and every snapshot that has B has A.
 * A snapshot therefore never takes B and leaves A for a later batch. Positions of transactions that overlapped may appear in any order:
 * a lower one may be sealed after a higher one.
 */
export function listUnsealed(tx: Transaction, limit: number, maxBytes: number): Promise<UnsealedEvent[]> {
  return tx.query<UnsealedEvent>(
    `select e.position, ${auditEventKeys.map((key) => `e.${key}`).join(', ')} from (
       select position, sum(bytes) over (order by position) - bytes as before from (
         select position, coalesce(octet_length(detail_fingerprint), 0) + coalesce(octet_length(detail_raw), 0)
           + coalesce(octet_length(reason), 0) + octet_length(metadata_json) as bytes
         from audit_events where ${isWaiting} order by position limit $1
       ) next
     ) taken join audit_events e using (position) where taken.before < $2 order by position`,
    [limit, maxBytes],
  );
}

export interface SealedBatch {
  /** Stored events that get their place. */
  events: readonly (UnsealedEvent & SealedEvent)[];
  /** Events that sealing adds. */
  added: readonly SealedEvent[];
  tiles: readonly TileRow[];
  head: AuditHead;
}

/** Writes the batch; the statements share a round trip. Throws if an event that was read is gone. */
export async function writeSealedBatch(tx: Transaction, { events, added, tiles, head }: SealedBatch): Promise<void> {
  const updated = tx.query<{ count: number }>(
    `with done as (
       update audit_events e set seq = sealed.seq, prev_hash = sealed.prev_hash, event_hash = sealed.event_hash
       from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) sealed(position, seq, prev_hash, event_hash)
       where e.position = sealed.position returning 1
     ) select count(*) as count from done`,
    columnsOf(events, ['position', 'seq', 'prev_hash', 'event_hash']),
  );
  if (added.length > 0)
    tx.send(
      `insert into audit_events (${event}) select ${event} from jsonb_populate_recordset(null::audit_events, $1::jsonb) order by seq`,
      [JSON.stringify(added)],
    );
  tx.send(
    `insert into audit_tiles (level, index, width, hashes) select level, index, octet_length(hashes) / 32, hashes
     from unnest($1::smallint[], $2::bigint[], $3::bytea[]) tile(level, index, hashes)
     on conflict (level, index) do update set width = excluded.width, hashes = excluded.hashes`,
    columnsOf(tiles, ['level', 'index', 'hashes']),
  );
  tx.send(
    `insert into audit_head (seq, event_hash, sealed_at, key_id, signature, tree_root, tree_signature) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (only_row) do update set seq = excluded.seq, event_hash = excluded.event_hash, sealed_at = excluded.sealed_at,
       key_id = excluded.key_id, signature = excluded.signature, tree_root = excluded.tree_root, tree_signature = excluded.tree_signature`,
    [head.seq, head.eventHash, head.sealedAt, head.keyId, head.signature, head.treeRoot, head.treeSignature],
  );
  const [row] = await updated;
  if (row?.count !== events.length) throw new Error('an event of the audit log was removed while it was sealed');
}

/** No other log begins. */
export const endBegin = (tx: Transaction): void =>
  tx.send('update signing_keys set begin_signature = null where begin_signature is not null');

const columnsOf = <Row, Key extends keyof Row>(rows: readonly Row[], keys: readonly Key[]): Row[Key][][] =>
  keys.map((key) => rows.map((row) => row[key]));
