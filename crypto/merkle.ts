import { hash } from 'node:crypto';

/**
 * The Merkle tree over the sealed audit events (AU-80), hashed as in RFC 6962. Its hashes are kept in tiles of height 8: tile
 * `index` of `level` holds the roots of 256 neighbouring subtrees of 256^level leaves each. A tile that is full never changes.
 */
export interface Tree {
  /** Number of leaves. */
  readonly size: number;
  /**
   * The roots of the complete subtrees that make up the tree, the largest first. They alone decide the root: whoever continues a stored tree must
   * compare `treeRoot` with a root that was signed, or whoever can write the database chooses the next one.
   */
  readonly peaks: readonly Uint8Array[];
  /** `edge[level]` holds the hashes of that level's unfinished tile, one after the other. */
  readonly edge: readonly Uint8Array[];
}

export interface Tile {
  readonly level: number;
  readonly index: number;
  /** 1 to 256 hashes of 32 bytes, one after the other. */
  readonly hashes: Uint8Array;
}

export interface Grown {
  readonly tree: Tree;
  readonly root: Uint8Array;
  /** Tiles that became full, in that order. The edge no longer has their hashes, so they must be kept. */
  readonly full: readonly Tile[];
}

export const HASH_BYTES = 32;
export const TILE_WIDTH = 256;
const TILE_HEIGHT = 8;

export const emptyTree: Tree = { size: 0, peaks: [], edge: [] };

export function leafHash(eventHash: Uint8Array): Uint8Array {
  if (eventHash.length !== HASH_BYTES) throw new RangeError('the hash of an event has 32 bytes');
  leafInput.set(eventHash, 1);
  return sha256(leafInput);
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  nodeInput.set(left, 1);
  nodeInput.set(right, 1 + HASH_BYTES);
  return sha256(nodeInput);
}

// Overwritten before each use: a buffer of its own for each hash costs as much as the hash.
const leafInput = new Uint8Array(1 + HASH_BYTES);
const nodeInput = new Uint8Array(1 + 2 * HASH_BYTES).fill(1, 0, 1);

/** The tree with further leaves, given as the 32-byte hashes of their events in the order of their `seq`. */
export function growTree(tree: Tree, eventHashes: readonly Uint8Array[]): Grown {
  checkTree(tree);
  const peaks = [...tree.peaks];
  const rows = tree.edge.map(splitHashes);
  const full: Tile[] = [];
  const keep = (level: number, hash: Uint8Array, size: number) => {
    const row = rows[level] ?? [];
    rows[level] = row;
    if (row.push(hash) < TILE_WIDTH) return;
    rows[level] = [];
    full.push({ level, index: Math.floor(size / TILE_WIDTH ** (level + 1)) - 1, hashes: concat(row) });
  };
  let size = tree.size;
  for (const eventHash of eventHashes) {
    let node = leafHash(eventHash);
    keep(0, node, size + 1);
    for (let height = 1, rest = size; rest % 2 === 1; height++, rest = (rest - 1) / 2) {
      node = nodeHash(peaks.pop() as Uint8Array, node);
      if (height % TILE_HEIGHT === 0) keep(height / TILE_HEIGHT, node, size + 1);
    }
    peaks.push(node);
    size += 1;
  }
  const grown = { size, peaks, edge: rows.map(concat) };
  return { tree: grown, root: treeRoot(grown), full };
}

/** The root of the tree; of an empty one the SHA-256 of nothing (RFC 6962). */
export function treeRoot({ peaks }: Pick<Tree, 'peaks'>): Uint8Array {
  if (peaks.length === 0) return sha256(new Uint8Array(0));
  return peaks.reduceRight((right, left) => nodeHash(left, right));
}

/** The root over 2^n neighbouring hashes of one level. */
export function subtreeRoot(hashes: Uint8Array): Uint8Array {
  let row = splitHashes(hashes);
  if (row.length === 0 || !Number.isInteger(Math.log2(row.length))) throw new RangeError('no complete subtree');
  while (row.length > 1)
    row = Array.from({ length: row.length / 2 }, (_, at) => nodeHash(row[2 * at] as Uint8Array, row[2 * at + 1] as Uint8Array));
  return row[0] as Uint8Array;
}

/** How many levels of tiles a tree has. */
export function levelsOf(size: number): number {
  let levels = 0;
  while (TILE_WIDTH ** levels <= size) levels += 1;
  return levels;
}

/** How many hashes a level has in a tree of this size. */
export const hashesAt = (size: number, level: number): number => Math.floor(size / TILE_WIDTH ** level);

/** The tree of this size from the hashes of its unfinished tiles alone. */
export function treeOfEdge(size: number, edge: readonly Uint8Array[]): Tree {
  const peaks: Uint8Array[] = [];
  for (const hashes of edge.toReversed()) {
    let at = 0;
    for (let width = TILE_WIDTH / 2; width >= 1; width /= 2) {
      if (Math.floor(hashes.length / HASH_BYTES / width) % 2 === 0) continue;
      peaks.push(subtreeRoot(hashes.slice(at, at + width * HASH_BYTES)));
      at += width * HASH_BYTES;
    }
  }
  const tree = { size, peaks, edge };
  checkTree(tree);
  return tree;
}

function splitHashes(hashes: Uint8Array): Uint8Array[] {
  return Array.from({ length: hashes.length / HASH_BYTES }, (_, at) => hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES));
}

const sha256 = (input: Uint8Array): Uint8Array => new Uint8Array(hash('sha256', input, 'buffer'));

function checkTree({ size, peaks, edge }: Tree): void {
  const isSize = Number.isSafeInteger(size) && size >= 0;
  const fits = edge.every((hashes, level) => hashes.length === (hashesAt(size, level) % TILE_WIDTH) * HASH_BYTES);
  if (
    !isSize ||
    !fits ||
    edge.length !== levelsOf(size) ||
    peaks.length !== peakCount(size) ||
    peaks.some((hash) => hash.length !== HASH_BYTES)
  )
    throw new RangeError('this is no tree of that size');
}

/** One complete subtree for each bit that is set. */
const peakCount = (size: number) => size.toString(2).replaceAll('0', '').length;

const concat = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));
