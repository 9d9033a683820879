import { eventHash } from '../crypto/audit-hash.js';
import { leafHash } from '../crypto/merkle.js';
import { inclusionRuns, readProof, rootByInclusion, tilesOf } from '../crypto/tree-proof.js';
import { insertAuditEvents } from '../db/audit.js';
import { findPurgeable, purgeEvents } from '../db/audit-purge.js';
import { type AuditHead, readSealState, tryLockAudit } from '../db/audit-seal.js';
import { readTiles } from '../db/audit-tree.js';
import type { Transaction } from '../db/client.js';
import { checkpointFault } from '../domain/audit/checkpoint.js';
import { type AuditDraft, systemActor } from '../domain/audit/draft.js';
import type { SealedEvent } from '../domain/audit/event.js';
import { type PurgeStatement, purgeText } from '../domain/audit/signed-texts.js';
import type { ReadAuditKeys } from '../runtime/audit-keys.js';
import { readStoredChain } from './stored-chain.js';

/** Events per transaction. A checkpoint comes at least every 101 events, so it is never many more. */
const mostAtOnce = 10_000;

export type PurgeOutcome =
  /** Another process seals or purges. */
  | { kind: 'busy' }
  /** What is stored cannot be verified, so that nothing is deleted. */
  | { kind: 'stopped'; reason: string }
  | { kind: 'done'; purged: number };

/** Deletes events past their retention, up to a checkpoint, and records it (AU-46). In the caller's transaction, so all of it or nothing. */
export async function purgeAuditEvents(
  tx: Transaction,
  readKeys: ReadAuditKeys,
  retentionSecs: number,
  most = mostAtOnce,
): Promise<PurgeOutcome> {
  if (!(await tryLockAudit(tx))) return { kind: 'busy' };
  const found = await findPurgeable(tx, retentionSecs, most);
  if (found === null) return { kind: 'done', purged: 0 };
  const [state, keys] = await Promise.all([readSealState(tx), readKeys(tx)]);
  const chain = readStoredChain(state, keys);
  if ('broken' in chain) return { kind: 'stopped', reason: chain.broken };
  const { head } = state;
  const { signer } = keys;
  if (head === null || signer === null) return { kind: 'stopped', reason: 'there is no key to sign with' };
  const { checkpoint, purgedBefore } = found;
  // Its signature covers when it was made, so that nobody can pass off young events as old ones.
  const fault =
    eventHash(checkpoint) === checkpoint.event_hash ? checkpointFault(checkpoint, null, keys.isSigned) : 'hash_mismatch';
  if (fault !== null) return { kind: 'stopped', reason: `${fault} at seq ${checkpoint.seq}` };
  if (!(await isInTree(tx, checkpoint, head))) return { kind: 'stopped', reason: `tree_mismatch at seq ${checkpoint.seq}` };
  const statement = { lastPurgedHash: checkpoint.event_hash, purgedBefore, retainedCount: head.seq - checkpoint.seq };
  const signature = signer.sign(new TextEncoder().encode(purgeText(statement)));
  const purged = await purgeEvents(tx, checkpoint.seq, statement, { keyId: signer.keyId, signature });
  await insertAuditEvents(tx, [purgeEvent(statement, signer.keyId, signature)]);
  return { kind: 'done', purged };
}

/** Whether the signed tree has this event in this place: `seq` itself is in no hash of the chain. */
async function isInTree(tx: Transaction, { seq, event_hash }: SealedEvent, head: AuditHead): Promise<boolean> {
  if (seq > head.seq) return false;
  const runs = inclusionRuns(seq - 1, head.seq);
  const tiles = await readTiles(tx, tilesOf(runs));
  try {
    const proof = readProof(runs, ({ level, index }) => tiles.get(`${level}/${index}`));
    const leaf = leafHash(Uint8Array.from(Buffer.from(event_hash, 'hex')));
    const root = rootByInclusion(seq - 1, head.seq, leaf, proof);
    return root !== null && Buffer.from(root).toString('hex') === head.treeRoot;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function purgeEvent(
  { purgedBefore, lastPurgedHash, retainedCount }: PurgeStatement,
  keyId: string,
  signature: string,
): AuditDraft {
  return {
    type: 'audit.purge_checkpoint',
    outcome: 'info',
    actor: systemActor,
    resourceType: 'audit',
    resourceId: null,
    reason: null,
    metadata: {
      purged_before: purgedBefore,
      last_purged_hash: lastPurgedHash,
      retained_count: retainedCount,
      key_id: keyId,
      signature,
    },
  };
}
