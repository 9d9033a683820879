import { eventHash } from '../crypto/audit-hash.js';
import { hashesAt, levelsOf, TILE_WIDTH, type Tree, treeOfEdge, treeRoot } from '../crypto/merkle.js';
import type { AuditHead, SealState, TileRow } from '../db/audit-seal.js';
import type { ChainEnd } from '../domain/audit/sealing.js';
import { beginText, headText, purgeText, treeText } from '../domain/audit/signed-texts.js';
import type { AuditKeySet } from '../runtime/audit-keys.js';

/** What a sealer may continue, or why it must not. */
export type StoredChain = { end: ChainEnd; tree: Tree } | { broken: string };

/** Verifies where the stored chain and tree end (AU-44). Whatever the database says is believed only if a trusted key signed it. */
export function readStoredChain(state: SealState, keys: AuditKeySet): StoredChain {
  const { head, begin, newest, purge, hasTiles, checkpoint } = state;
  const checkpointIn = { checkpointSeq: checkpoint.seq, checkpointAt: checkpoint.at };
  if (head === null) {
    if (newest !== null || purge !== null || hasTiles) return { broken: 'head_missing: events are sealed, but there is no head' };
    if (begin === null || !keys.isSigned(begin.keyId, beginText(begin.keyId), begin.signature))
      return { broken: 'head_missing: the log of this audit key has begun before' };
    return { end: { seq: 0, hash: null, ...checkpointIn }, tree: treeOfEdge(0, []) };
  }
  const isSigned = (text: string, signature: string) => keys.isSigned(head.keyId, text, signature);
  if (!keys.trusted.has(head.keyId)) return { broken: `head_signature_invalid: key ${head.keyId} is not trusted` };
  if (!isSigned(headText(head), head.signature)) return { broken: 'head_signature_invalid: the signature does not fit the head' };
  if (!(newest === null ? isPurged(state, head, keys) : isHead(newest, head)))
    return { broken: 'head_mismatch: the last sealed event is not that of the head' };
  if (purge !== null && head.seq < purge.lastPurgedSeq + purge.retainedCount)
    return { broken: 'head_mismatch: the head is older than the last purge' };
  if (!isSigned(treeText(head), head.treeSignature))
    return { broken: 'tree_mismatch: the signature does not fit the root of the tree' };
  const tree = treeOf(state.edge, head);
  if (tree === null) return { broken: 'tree_mismatch: the tiles do not make the signed root' };
  return { end: { seq: head.seq, hash: head.eventHash, ...checkpointIn }, tree };
}

const isHead = (newest: NonNullable<SealState['newest']>, head: AuditHead): boolean =>
  newest.seq === head.seq && newest.event_hash === head.eventHash && eventHash(newest) === head.eventHash;

/** Nothing sealed is left: the head's event must be the last that a signed purge removed. */
function isPurged({ purge }: SealState, { seq, eventHash }: AuditHead, { isSigned }: AuditKeySet): boolean {
  if (purge?.lastPurgedSeq !== seq || purge.lastPurgedHash !== eventHash) return false;
  return isSigned(purge.keyId, purgeText(purge), purge.signature);
}

function treeOf(rows: readonly TileRow[], { seq, treeRoot: root }: AuditHead): Tree | null {
  const edge = Array.from({ length: levelsOf(seq) }, (_, level) => {
    const isEmpty = hashesAt(seq, level) % TILE_WIDTH === 0;
    return (isEmpty ? undefined : rows.find((row) => row.level === level)?.hashes) ?? new Uint8Array(0);
  });
  try {
    const tree = treeOfEdge(seq, edge);
    return Buffer.from(treeRoot(tree)).toString('hex') === root ? tree : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
