import type { z } from 'zod';
import { eventHash } from '../../crypto/audit-hash.js';
import { type LogFrame, readLogFrame, sealedBatches } from '../../db/audit-walk.js';
import { outsideCall } from '../../db/call-limit.js';
import { inSnapshot, type Snapshot } from '../../db/snapshot.js';
import {
  CHAIN_REASONS,
  type ChainContext,
  type ChainFault,
  type ChainState,
  chainFault,
  nextInChain,
  startChain,
} from '../../domain/audit/chain.js';
import { createPermits } from '../../lib/permits.js';
import type { Services } from '../context.js';
import { count, flag, hex, instant, named, oneOf, uuid } from '../http/fields.js';
import { type BlockCheck, checkBlocks } from './verify-blocks.js';
import { growWalked, queryable, type TreeAnchor, treeBefore, treeFault, type WalkedTree } from './verify-tree.js';

/** What somebody kept outside the database: the hash of an event, and a root of the tree. */
export interface Anchors {
  event: ChainContext['anchor'];
  tree: TreeAnchor | null;
}

/** The answer (AU-70). */
export const verified = named('AuditVerification', 'Whether the audit log is valid.', {
  valid: flag('True if the log is valid.'),
  total_events: count('How many events there are.'),
  sealed: count('How many events are sealed.'),
  unsealed: count('How many wait for it.'),
  checkpoints_verified: count('How many checkpoint signatures were valid.'),
  first_broken_id: uuid('The first event that was found wrong.').nullable(),
  first_broken_seq: count('Its place.').nullable(),
  reason: oneOf(CHAIN_REASONS, 'What is wrong.').nullable(),
  head_seq: count('The place of the last sealed event, by the signed head.').nullable(),
  head_hash: hex(64, 'Its hash.').nullable(),
  oldest_unsealed_at: instant('When the event that has waited longest happened.').nullable(),
});

/** A statement of the walk over a large log, and the pause while other calls have their turn (OP-70 sets no limit for the whole). */
const statementMs = 60_000;

/** One at a time in a process, because it takes a connection and much of a core. Others wait in order. */
const turn = createPermits(1);

/** Verifies the whole log (AU-70). Rejects when the caller goes away. */
export function verifyLog(
  services: Pick<Services, 'database' | 'auditKeys'>,
  anchors: Anchors,
  signal: AbortSignal,
): Promise<z.output<typeof verified>> {
  return outsideCall(async () => {
    if (!(await turn.take(signal))) signal.throwIfAborted();
    return verifyNow(services, anchors, signal).finally(turn.give);
  });
}

async function verifyNow(
  { database, auditKeys }: Pick<Services, 'database' | 'auditKeys'>,
  anchors: Anchors,
  signal: AbortSignal,
) {
  return inSnapshot(database.pool, statementMs, async (snapshot) => {
    // Of the same moment as the head: a key that a rotation makes afterwards signs only what the snapshot does not show.
    const { isSigned } = await auditKeys(queryable(snapshot));
    const frame = await readLogFrame(snapshot);
    const context = { hash: eventHash, isSigned, head: frame.head, anchor: anchors.event, purges: frame.purges };
    const { state, tree, blocks } = await walk(snapshot, context, signal);
    const fault =
      chainFault(state, context, frame.usersExist) ??
      (await treeFault(snapshot, tree, { isSigned, anchor: anchors.tree })) ??
      blockFault(blocks);
    return report(state, fault, frame);
  });
}

async function walk(
  snapshot: Snapshot,
  context: ChainContext,
  signal: AbortSignal,
): Promise<{ state: ChainState; tree: WalkedTree; blocks?: BlockCheck | undefined }> {
  let state = startChain;
  let tree: WalkedTree | undefined;
  let blocks: BlockCheck | undefined;
  for await (const events of sealedBatches(snapshot)) {
    for (const event of events) {
      state = nextInChain(state, event, context);
      if (state.fault !== null) return { state, tree: null };
    }
    if (tree === undefined) tree = await treeBefore(snapshot, (events[0]?.seq ?? 1) - 1);
    tree = await growWalked(snapshot, tree, events);
    blocks ??= await checkBlocks(queryable(snapshot), events[0]?.seq ?? 1, context.head?.seq ?? 0);
    await blocks.see(events);
    signal.throwIfAborted();
  }
  // A purge may have deleted all events, so that only the tiles are left.
  return { state, tree: tree === undefined ? await treeBefore(snapshot, context.head?.seq ?? 0) : tree, blocks };
}

function blockFault(blocks: BlockCheck | undefined): ChainFault | null {
  const seq = blocks?.wrongFrom() ?? null;
  return seq === null ? null : { reason: 'block_mismatch', id: null, seq };
}

function report(state: ChainState, fault: ChainFault | null, frame: LogFrame) {
  return {
    valid: fault === null,
    total_events: frame.sealed + frame.unsealed,
    sealed: frame.sealed,
    unsealed: frame.unsealed,
    checkpoints_verified: state.checkpoints,
    first_broken_id: fault?.id ?? null,
    first_broken_seq: fault?.seq ?? null,
    reason: fault?.reason ?? null,
    head_seq: frame.head?.seq ?? null,
    head_hash: frame.head?.eventHash ?? null,
    oldest_unsealed_at: frame.oldestUnsealedAt,
  };
}
