import { emptyTree, HASH_BYTES, hashesAt, TILE_WIDTH, treeRoot } from '../../crypto/merkle.js';
import { signCheckpoint } from '../../crypto/signed-note.js';
import { consistencyRuns, inclusionRuns, type Run, readProof, tilesOf } from '../../crypto/tree-proof.js';
import { findTreeHead, readTiles } from '../../db/audit-tree.js';
import type { Queryable } from '../../db/client.js';
import { treeText } from '../../domain/audit/signed-texts.js';
import { refusal } from '../../domain/errors.js';
import type { Services } from '../context.js';

export interface SignedTree {
  size: number;
  root: Uint8Array;
}

/**
 * The newest tree that a trusted key signed with its head. Nothing else is ever proven or signed: whoever can write the database could
 * otherwise have a tree of their own signed here.
 */
export async function signedTree(db: Queryable, { auditKeys }: Pick<Services, 'auditKeys'>): Promise<SignedTree> {
  const [head, keys] = [await findTreeHead(db), await auditKeys(db)];
  if (head === null) return { size: 0, root: treeRoot(emptyTree) };
  if (!keys.isSigned(head.keyId, treeText(head), head.treeSignature)) throw unproven();
  return { size: head.seq, root: Uint8Array.from(Buffer.from(head.treeRoot, 'hex')) };
}

export const unproven = () => refusal('service.unavailable', 'the audit log cannot be proven', 'verify it');

/** The tree as a note signed with the current audit key (AU-81). */
export async function signedNote(
  tree: SignedTree,
  db: Queryable,
  services: Pick<Services, 'auditKeys' | 'config'>,
): Promise<string> {
  const { signer } = await services.auditKeys(db);
  if (signer === null) throw refusal('service.unavailable', 'the current audit key cannot be opened');
  return signCheckpoint({ origin: services.config().audit.origin, ...tree }, signer);
}

/** Proofs as base64 hashes. Tiles only grow, so they serve every tree up to the newest, unless somebody has removed hashes. */
export async function proofsOf(db: Queryable, proofs: readonly (readonly Run[])[]): Promise<string[][]> {
  const tiles = await readTiles(db, tilesOf(proofs.flat()));
  try {
    return proofs.map((runs) =>
      readProof(runs, ({ level, index }) => tiles.get(`${level}/${index}`)).map((hash) => Buffer.from(hash).toString('base64')),
    );
  } catch (error) {
    if (error instanceof RangeError) throw unproven();
    throw error;
  }
}

export const inclusionProof = async (db: Queryable, seq: number, size: number) =>
  (await proofsOf(db, [inclusionRuns(seq - 1, size)]))[0]!;
export const consistencyProof = async (db: Queryable, from: number, to: number) =>
  (await proofsOf(db, [consistencyRuns(from, to)]))[0]!;

/** The hashes of a tile of this width; null if the tree has not so many there. */
export async function tileBytes(
  db: Queryable,
  tree: SignedTree,
  tile: { level: number; index: number; width: number },
): Promise<Uint8Array | null> {
  const { level, index, width } = tile;
  if (hashesAt(tree.size, level) < index * TILE_WIDTH + width) return null;
  const hashes = (await readTiles(db, [{ level, index }])).get(`${level}/${index}`);
  return hashes === undefined || hashes.length < width * HASH_BYTES ? null : hashes.slice(0, width * HASH_BYTES);
}
