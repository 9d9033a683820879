import { eventHash } from '../crypto/audit-hash.js';
import { insertAuditEvents } from '../db/audit.js';
import { findPurgeable, findYounger, purgeEvents } from '../db/audit-purge.js';
import { type AuditHead, readSealState, tryLockAudit } from '../db/audit-seal.js';
import type { Transaction } from '../db/client.js';
import { checkpointFault } from '../domain/audit/checkpoint.js';
import { type AuditDraft, systemActor } from '../domain/audit/draft.js';
import type { SealedEvent } from '../domain/audit/event.js';
import { type PurgeStatement, purgeText } from '../domain/audit/signed-texts.js';
import type { AuditKeySet, ReadAuditKeys } from '../runtime/audit-keys.js';
import { areInTree } from '../runtime/audit-tree.js';
import { readStoredChain } from './stored-chain.js';

/** Events per transaction. A checkpoint comes at least every 101 events, so it is never many more. */
export const mostAtOnce = 10_000;

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
  let found = await findPurgeable(tx, { retentionSecs, most, before: Number.MAX_SAFE_INTEGER });
  if (found === null) return { kind: 'done', purged: 0 };
  const [state, keys] = await Promise.all([readSealState(tx), readKeys(tx)]);
  const chain = readStoredChain(state, keys);
  if ('broken' in chain) return { kind: 'stopped', reason: chain.broken };
  const { head } = state;
  const { signer } = keys;
  if (head === null || signer === null) return { kind: 'stopped', reason: 'there is no key to sign with' };
  for (let young: number | null = 0; young !== null; ) {
    const reason = await faultOf(tx, found.checkpoint, head, keys);
    if (reason !== null) return { kind: 'stopped', reason: `${reason} at seq ${found.checkpoint.seq}` };
    young = await findYounger(tx, found);
    if (young !== null) found = await findPurgeable(tx, { retentionSecs, most, before: young });
    if (found === null) return { kind: 'done', purged: 0 };
  }
  const { checkpoint, purgedBefore } = found;
  const statement = { lastPurgedHash: checkpoint.event_hash, purgedBefore, retainedCount: head.seq - checkpoint.seq };
  const signature = signer.sign(purgeText(statement));
  const purged = await purgeEvents(tx, checkpoint.seq, statement, { keyId: signer.keyId, signature });
  await insertAuditEvents(tx, [purgeEvent(statement, signer.keyId, signature)]);
  return { kind: 'done', purged };
}

/** Its signature covers when it was made, so that nobody can pass off young events as old ones. */
async function faultOf(
  tx: Transaction,
  checkpoint: SealedEvent,
  head: AuditHead,
  { isSigned }: AuditKeySet,
): Promise<string | null> {
  if (eventHash(checkpoint) !== checkpoint.event_hash) return 'hash_mismatch';
  const fault = checkpointFault(checkpoint, null, isSigned);
  if (fault !== null) return fault;
  const tree = { size: head.seq, root: Uint8Array.from(Buffer.from(head.treeRoot, 'hex')) };
  return (await areInTree(tx, tree, [checkpoint])) ? null : 'tree_mismatch';
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
