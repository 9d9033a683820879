import type { AuditEvent, HashedEvent, SealedEvent } from './event.js';
import { checkpointText } from './signed-texts.js';

const checkpointEvents = 100;
const checkpointMs = 60 * 60_000;

/** Where the chain ends, and its last checkpoint. */
export interface ChainEnd {
  seq: number;
  /** Null before the first event. */
  hash: string | null;
  /** `seq` of the last checkpoint, 0 if there is none. */
  checkpointSeq: number;
  /** When the 60 minutes began: `created_at` of that checkpoint or, without one, of the first event. Null before the first event. */
  checkpointAt: string | null;
}

export interface Sealer {
  hash(event: HashedEvent): string;
  newId(): string;
  keyId: string;
  sign(text: string): string;
  /** By the database, in the form of `created_at`. */
  now: string;
}

export interface SealedRun<Event extends AuditEvent> {
  events: (Event & SealedEvent)[];
  checkpoints: SealedEvent[];
  end: ChainEnd;
}

/** Appends events to the chain in this order, with a checkpoint wherever one is due (AU-31, AU-41). */
export function sealRun<Event extends AuditEvent>(from: ChainEnd, events: readonly Event[], sealer: Sealer): SealedRun<Event> {
  const run: SealedRun<Event> = { events: [], checkpoints: [], end: from };
  for (const event of events) {
    run.events.push(append(run, event, sealer));
    if (run.end.seq - run.end.checkpointSeq >= checkpointEvents) addCheckpoint(run, sealer);
  }
  if (checkpointDueInMs(run.end, sealer.now) <= 0) addCheckpoint(run, sealer);
  return run;
}

/** Infinity while no event follows the last checkpoint. */
export function checkpointDueInMs({ seq, checkpointSeq, checkpointAt }: ChainEnd, now: string): number {
  if (seq === checkpointSeq) return Number.POSITIVE_INFINITY;
  const since = Date.parse(now) - Date.parse(checkpointAt ?? now);
  // An instant that nobody can read is long past, and so is one further ahead than any pause: the clock was set back since.
  return Number.isNaN(since) || since < -checkpointMs ? 0 : checkpointMs - since;
}

function append<Event extends AuditEvent>(run: SealedRun<AuditEvent>, event: Event, { hash }: Sealer): Event & SealedEvent {
  const { end } = run;
  const placed = { ...event, prev_hash: end.hash };
  const sealed = { ...placed, event_hash: hash(placed), seq: end.seq + 1 };
  run.end = { ...end, seq: sealed.seq, hash: sealed.event_hash, checkpointAt: end.checkpointAt ?? event.created_at };
  return sealed;
}

function addCheckpoint(run: SealedRun<AuditEvent>, sealer: Sealer): void {
  const { seq, hash, checkpointSeq } = run.end;
  if (hash === null) throw new Error('a checkpoint before the first event');
  const created_at = sealer.now;
  const count = seq - checkpointSeq;
  const metadata = {
    chain_head_hash: hash,
    event_count_since_last_checkpoint: count,
    key_id: sealer.keyId,
    signature: sealer.sign(checkpointText({ chainHeadHash: hash, count, createdAt: created_at })),
  };
  const sealed = append(
    run,
    { ...emptyCheckpoint, id: sealer.newId(), created_at, metadata_json: JSON.stringify(metadata) },
    sealer,
  );
  run.checkpoints.push(sealed);
  run.end = { ...run.end, checkpointSeq: sealed.seq, checkpointAt: created_at };
}

const emptyCheckpoint: Omit<AuditEvent, 'id' | 'created_at' | 'metadata_json'> = {
  event_type: 'audit.signed_checkpoint',
  event_category: 'policy',
  event_version: 1,
  outcome: 'info',
  actor_id: 'system',
  actor_type: 'system',
  resource_type: 'audit',
  resource_id: null,
  peer_ip: null,
  client_ip: null,
  client_ip_source: null,
  request_id: null,
  operation: null,
  database_name: null,
  environment: null,
  detail_fingerprint: null,
  detail_raw: null,
  reason: null,
  prev_hash: null,
  event_hash: null,
  seq: null,
};
