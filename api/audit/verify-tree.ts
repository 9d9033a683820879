import {
  growTree,
  HASH_BYTES,
  hashesAt,
  levelsOf,
  TILE_WIDTH,
  type Tile,
  type Tree,
  treeOfEdge,
  treeRoot,
} from '../../crypto/merkle.js';
import { consistencyRuns, isConsistent, readProof, tilesOf } from '../../crypto/tree-proof.js';
import { findTreeHead, readTiles, type TreeHead } from '../../db/audit-tree.js';
import type { Queryable } from '../../db/client.js';
import type { Snapshot } from '../../db/snapshot.js';
import type { ChainFault } from '../../domain/audit/chain.js';
import type { IsSigned } from '../../domain/audit/checkpoint.js';
import type { SealedEvent } from '../../domain/audit/event.js';
import { treeText } from '../../domain/audit/signed-texts.js';

/** A size and root that somebody kept outside the database (AU-83). */
export interface TreeAnchor {
  size: number;
  root: Uint8Array;
}

/** The tree over the events that were walked. Null once a stored tile is found wrong; what was purged is taken from the tiles. */
export type WalkedTree = Tree | null;

/** The tree below the first event that is left. */
export const treeBefore = (snapshot: Snapshot, size: number): Promise<WalkedTree> => storedTree(queryable(snapshot), size);

/** The tree with the next events; tiles that became full must be stored as they are. */
export async function growWalked(snapshot: Snapshot, tree: WalkedTree, events: readonly SealedEvent[]): Promise<WalkedTree> {
  if (tree === null) return null;
  const grown = growTree(
    tree,
    events.map(({ event_hash: hash }) => Uint8Array.from(Buffer.from(hash, 'hex'))),
  );
  if (grown.full.length === 0) return grown.tree;
  const stored = await readTiles(queryable(snapshot), grown.full);
  return grown.full.every((tile) => isStored(tile, stored)) ? grown.tree : null;
}

/** What is wrong with the tree after all events, or with the log since the anchor (AU-83). */
export async function treeFault(
  snapshot: Snapshot,
  walked: WalkedTree,
  { isSigned, anchor }: { isSigned: IsSigned; anchor: TreeAnchor | null },
): Promise<ChainFault | null> {
  const db = queryable(snapshot);
  const head = await findTreeHead(db);
  if (head === null) return null;
  if (!(await isWhole(db, walked, head, isSigned))) return { reason: 'tree_mismatch', id: null, seq: head.seq };
  if (anchor === null || (await continues(db, anchor, head))) return null;
  return { reason: 'anchor_mismatch', id: null, seq: anchor.size };
}

async function isWhole(db: Queryable, walked: WalkedTree, head: TreeHead, isSigned: IsSigned): Promise<boolean> {
  const stored = await storedTree(db, head.seq, true);
  if (walked === null || stored === null || walked.size !== head.seq) return false;
  const root = rootOf(walked);
  return root === head.treeRoot && rootOf(stored) === root && isSigned(head.keyId, treeText(head), head.treeSignature);
}

/** Whether the log of the anchor is the beginning of this one. The tiles that say so lead to the root that was just computed. */
async function continues(db: Queryable, { size, root }: TreeAnchor, head: TreeHead): Promise<boolean> {
  if (size > head.seq) return false;
  const runs = consistencyRuns(size, head.seq);
  const tiles = await readTiles(db, tilesOf(runs));
  try {
    const proof = readProof(runs, ({ level, index }) => tiles.get(`${level}/${index}`));
    return isConsistent({ size, root }, { size: head.seq, root: Uint8Array.from(Buffer.from(head.treeRoot, 'hex')) }, proof);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * The tree of this size from the beginnings of its unfinished tiles, which must hold nothing more if it is the newest; null if they are not stored
 * like that.
 */
async function storedTree(db: Queryable, size: number, isNewest = false): Promise<WalkedTree> {
  const places = Array.from({ length: levelsOf(size) }, (_, level) => ({
    level,
    index: Math.floor(hashesAt(size, level) / TILE_WIDTH),
    bytes: (hashesAt(size, level) % TILE_WIDTH) * HASH_BYTES,
  }));
  const tiles = await readTiles(db, places);
  const found = places.map(({ level, index }) => tiles.get(`${level}/${index}`) ?? new Uint8Array(0));
  // A sealer would not continue from a tile with more.
  if (isNewest && found.some((hashes, level) => hashes.length !== places[level]?.bytes)) return null;
  const edge = found.map((hashes, level) => hashes.slice(0, places[level]?.bytes));
  return edge.every((hashes, level) => hashes.length === places[level]?.bytes) ? treeOfEdge(size, edge) : null;
}

function isStored({ level, index, hashes }: Tile, stored: ReadonlyMap<string, Uint8Array>): boolean {
  const found = stored.get(`${level}/${index}`);
  return found !== undefined && Buffer.compare(found, hashes) === 0;
}

const rootOf = (tree: Tree) => Buffer.from(treeRoot(tree)).toString('hex');

/** The snapshot for functions that take any connection. */
export const queryable = (snapshot: Snapshot): Queryable => ({ query: (text, values) => snapshot.rows(text, values) });
