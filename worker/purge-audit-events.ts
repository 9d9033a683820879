import { eventHash } from '../crypto/audit-hash.js';
import { insertAuditEvents } from '../db/audit.js';
import { findPurgeable, purgeEvents } from '../db/audit-purge.js';
import { readSealState, tryLockAudit } from '../db/audit-seal.js';
import type { Transaction } from '../db/client.js';
import { checkpointFault } from '../domain/audit/checkpoint.js';
import { type AuditDraft, systemActor } from '../domain/audit/draft.js';
import { type PurgeStatement, purgeText } from '../domain/audit/signed-texts.js';
import type { ReadAuditKeys } from '../runtime/audit-keys.js';
import { areInTree } from '../runtime/audit-tree.js';
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
  const tree = { size: head.seq, root: Uint8Array.from(Buffer.from(head.treeRoot, 'hex')) };
  if (!(await areInTree(tx, tree, [checkpoint]))) return { kind: 'stopped', reason: `tree_mismatch at seq ${checkpoint.seq}` };
  const statement = { lastPurgedHash: checkpoint.event_hash, purgedBefore, retainedCount: head.seq - checkpoint.seq };
  const signature = signer.sign(new TextEncoder().encode(purgeText(statement)));
  const purged = await purgeEvents(tx, checkpoint.seq, statement, { keyId: signer.keyId, signature });
  await insertAuditEvents(tx, [purgeEvent(statement, signer.keyId, signature)]);
  return { kind: 'done', purged };
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
