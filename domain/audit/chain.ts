import { CHECKPOINT_FAULTS, checkpointFault, type IsSigned, isCheckpoint } from './checkpoint.js';
import type { HashedEvent, SealedEvent } from './event.js';
import { type HeadStatement, headText, type PurgeStatement, purgeText } from './signed-texts.js';

/** Why a chain is not valid (AU-71). */
export const CHAIN_REASONS = [
  'purge_boundary_unauthenticated',
  'sequence_gap',
  'prev_hash_mismatch',
  'hash_mismatch',
  ...CHECKPOINT_FAULTS,
  'head_missing',
  'head_signature_invalid',
  'head_mismatch',
  'tree_mismatch',
  'anchor_mismatch',
  'block_mismatch',
] as const;
export type ChainReason = (typeof CHAIN_REASONS)[number];

/** The first thing found wrong and its place. The id is null where no event stands. */
export interface ChainFault {
  reason: ChainReason;
  id: string | null;
  seq: number | null;
}

export interface Signed {
  keyId: string;
  signature: string;
}

/** What the verifier compares the events with. */
export interface ChainContext {
  hash: (event: HashedEvent) => string;
  isSigned: IsSigned;
  head: (HeadStatement & Signed) | null;
  /** Where the operator knows the hash of an event from outside the database. */
  anchor: { seq: number; hash: string } | null;
  /** The stored purges whose `last_purged_hash` is the `prev_hash` of the first event or, without events, the hash of the head. */
  purges: readonly (PurgeStatement & Signed)[];
}

interface Place {
  id: string;
  seq: number;
  hash: string;
}

/** How far the walk has come. Nothing in it grows with the log. */
export interface ChainState {
  sealed: number;
  checkpoints: number;
  firstSeq: number | null;
  /** `seq` of the head when what came before the first event was purged, or 0: no later head is lower. */
  leastHead: number;
  last: Place | null;
  sinceCheckpoint: number;
  /** The event with the anchor's `seq`. */
  anchored: Place | null;
  /** The first event that is newer than the head. */
  beyondHead: Place | null;
  fault: ChainFault | null;
}

export const startChain: ChainState = {
  sealed: 0,
  checkpoints: 0,
  firstSeq: null,
  leastHead: 0,
  last: null,
  sinceCheckpoint: 0,
  anchored: null,
  beyondHead: null,
  fault: null,
};

/** The state after one more event, in the order of `seq`. With a fault the walk is over. */
export function nextInChain(state: ChainState, event: SealedEvent, context: ChainContext): ChainState {
  const { last } = state;
  const reason =
    (last === null ? firstFault(event, context) : followingFault(last, event)) ??
    (context.hash(event) === event.event_hash ? null : 'hash_mismatch') ??
    (isCheckpoint(event) ? checkpointFault(event, state.sinceCheckpoint, context.isSigned) : null);
  if (reason !== null) return { ...state, fault: { reason, id: event.id, seq: event.seq } };
  const place = { id: event.id, seq: event.seq, hash: event.event_hash };
  const checkpoint = isCheckpoint(event);
  return {
    sealed: state.sealed + 1,
    checkpoints: state.checkpoints + (checkpoint ? 1 : 0),
    firstSeq: state.firstSeq ?? event.seq,
    leastHead: last === null ? leastHeadAt(event, context) : state.leastHead,
    last: place,
    sinceCheckpoint: checkpoint ? 0 : state.sinceCheckpoint + 1,
    anchored: context.anchor?.seq === event.seq ? place : state.anchored,
    beyondHead: state.beyondHead ?? (context.head !== null && event.seq > context.head.seq ? place : null),
    fault: null,
  };
}

/** A log begins with `seq` 1, or behind what a signed purge has deleted. `seq` itself is not hashed: the signed head holds the number of the last event. */
function firstFault(event: SealedEvent, context: ChainContext): ChainReason | null {
  if (event.prev_hash === null && event.seq <= 1) return event.seq === 1 ? null : 'sequence_gap';
  if (purgeUpTo(event.prev_hash, context) === undefined) return 'purge_boundary_unauthenticated';
  return event.seq > 1 ? null : 'sequence_gap';
}

/** The signed purge that ended with the event of this hash. */
const purgeUpTo = (hash: string | null, { purges, isSigned }: ChainContext) =>
  purges.find((purge) => purge.lastPurgedHash === hash && isSigned(purge.keyId, purgeText(purge), purge.signature));

const leastHeadAt = ({ seq, prev_hash }: SealedEvent, context: ChainContext): number =>
  seq - 1 + (purgeUpTo(prev_hash, context)?.retainedCount ?? 0);

function followingFault(last: Place, event: SealedEvent): ChainReason | null {
  if (event.seq !== last.seq + 1) return 'sequence_gap';
  return event.prev_hash === last.hash ? null : 'prev_hash_mismatch';
}

/** What is wrong after the last event: of the chain, the head, or the anchor. `usersExist` tells that the log cannot be empty. */
export function chainFault(state: ChainState, context: ChainContext, usersExist: boolean): ChainFault | null {
  return state.fault ?? headFault(state, context, usersExist) ?? anchorFault(state, context);
}

function headFault({ last, beyondHead, leastHead }: ChainState, context: ChainContext, usersExist: boolean): ChainFault | null {
  const { head, isSigned } = context;
  const lastPlace = { id: last?.id ?? null, seq: last?.seq ?? null };
  if (head === null) return last !== null || usersExist ? { reason: 'head_missing', ...lastPlace } : null;
  if (!isSigned(head.keyId, headText(head), head.signature))
    return { reason: 'head_signature_invalid', id: last?.seq === head.seq ? last.id : null, seq: head.seq };
  if (beyondHead !== null) return { reason: 'head_mismatch', id: beyondHead.id, seq: beyondHead.seq };
  // A purge has deleted all, and its own event is not sealed yet. If it left some, they are missing, whatever an older head says.
  const emptied = last === null ? purgeUpTo(head.eventHash, context) : undefined;
  if (emptied?.retainedCount === 0) return null;
  if (emptied !== undefined || head.seq < leastHead) return { reason: 'head_mismatch', id: null, seq: head.seq + 1 };
  // The newest events are gone: the first of them is the place.
  if (last === null || last.seq < head.seq) return { reason: 'head_mismatch', id: null, seq: (last?.seq ?? 0) + 1 };
  return last.hash === head.eventHash ? null : { reason: 'head_mismatch', ...lastPlace };
}

function anchorFault({ anchored, firstSeq }: ChainState, { anchor, head }: ChainContext): ChainFault | null {
  if (anchor === null) return null;
  // What was purged cannot be compared any more, but for the event of the head, which a purge of all has deleted too.
  const known = anchor.seq === head?.seq ? head.eventHash : anchored?.hash;
  const purgedSeq = firstSeq === null ? (head?.seq ?? 0) : firstSeq - 1;
  if (known === anchor.hash || (known === undefined && anchor.seq <= purgedSeq)) return null;
  return { reason: 'anchor_mismatch', id: anchored?.id ?? null, seq: anchor.seq };
}
