import { HASH_BYTES, nodeHash, subtreeRoot, TILE_WIDTH } from './merkle.js';

/** A complete subtree: the 2^height leaves from `index` · 2^height. */
export interface Node {
  readonly height: number;
  readonly index: number;
}

/** Neighbouring complete subtrees, from the left, which together make one hash of a proof. */
export type Run = readonly Node[];

export interface TilePlace {
  readonly level: number;
  readonly index: number;
}

const TILE_HEIGHT = Math.log2(TILE_WIDTH);

/** The hashes that prove that leaf `index` is in the tree of `size` leaves (RFC 6962, 2.1.1). */
export function inclusionRuns(index: number, size: number): Run[] {
  if (!isSize(index) || !isSize(size) || index >= size) throw new RangeError('the tree has no such leaf');
  return pathTo(index, 0, size);
}

/** The hashes that prove that the tree of `from` leaves is the beginning of that of `to` leaves (RFC 6962, 2.1.2). */
export function consistencyRuns(from: number, to: number): Run[] {
  if (!isSize(from) || !isSize(to) || from < 1 || from > to) throw new RangeError('the larger tree does not contain the other');
  return beginning(from, 0, to);
}

/** The tiles that have the hashes of these subtrees, each once. */
export function tilesOf(runs: readonly Run[]): TilePlace[] {
  const places = runs.flat().map((node) => placeOf(node));
  return [...new Map(places.map(({ level, index }) => [`${level}/${index}`, { level, index }])).values()];
}

/** The proof, given the hashes of the tiles; throws a RangeError if a tile lacks a hash. */
export function readProof(runs: readonly Run[], hashesOf: (place: TilePlace) => Uint8Array | undefined): Uint8Array[] {
  const read = (node: Node) => {
    const { level, index, at, count } = placeOf(node);
    const hashes = hashesOf({ level, index });
    if (hashes === undefined || hashes.length < (at + count) * HASH_BYTES)
      throw new RangeError(`tile ${level}/${index} lacks hashes`);
    return subtreeRoot(hashes.subarray(at * HASH_BYTES, (at + count) * HASH_BYTES));
  };
  return runs.map((run) => run.map(read).reduceRight((right, left) => nodeHash(left, right)));
}

/** The root that a tree of `size` leaves has if the proof holds for the leaf; null if no proof can have this form. */
export function rootByInclusion(index: number, size: number, leaf: Uint8Array, proof: readonly Uint8Array[]): Uint8Array | null {
  if (!isSize(index) || !isSize(size) || index >= size || !areHashes([leaf, ...proof])) return null;
  let at = index;
  let last = size - 1;
  let root = leaf;
  for (const hash of proof) {
    if (last === 0) return null;
    const isLeft = at % 2 === 0 && at !== last;
    root = isLeft ? nodeHash(root, hash) : nodeHash(hash, root);
    if (!isLeft) [at, last] = toRightChild(at, last);
    [at, last] = [half(at), half(last)];
  }
  return last === 0 ? root : null;
}

/** Whether the proof shows that the smaller tree is the beginning of the larger one (RFC 9162, 2.1.4.2). */
export function isConsistent(from: SizedRoot, to: SizedRoot, proof: readonly Uint8Array[]): boolean {
  if (!isSize(from.size) || !isSize(to.size) || from.size < 1 || from.size > to.size) return false;
  if (!areHashes([from.root, to.root, ...proof])) return false;
  if (from.size === to.size) return proof.length === 0 && equal(from.root, to.root);
  const [first, ...rest] = Number.isInteger(Math.log2(from.size)) ? [from.root, ...proof] : proof;
  if (first === undefined) return false;
  let [at, last] = [from.size - 1, to.size - 1];
  while (at % 2 === 1) [at, last] = [half(at), half(last)];
  let [old, root] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [old, root] = [nodeHash(hash, old), nodeHash(hash, root)];
      [at, last] = toRightChild(at, last);
    } else root = nodeHash(root, hash);
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && equal(old, from.root) && equal(root, to.root);
}

export interface SizedRoot {
  readonly size: number;
  readonly root: Uint8Array;
}

function pathTo(index: number, low: number, high: number): Run[] {
  if (high - low === 1) return [];
  const middle = low + splitOf(high - low);
  return index < middle
    ? [...pathTo(index, low, middle), subtrees(middle, high)]
    : [...pathTo(index, middle, high), subtrees(low, middle)];
}

function beginning(from: number, low: number, high: number): Run[] {
  if (from === high) return low === 0 ? [] : [subtrees(low, high)];
  const middle = low + splitOf(high - low);
  return from <= middle
    ? [...beginning(from, low, middle), subtrees(middle, high)]
    : [...beginning(from, middle, high), subtrees(low, middle)];
}

/** The complete subtrees of the leaves from `low` (a multiple of all their widths) to `high`. */
function subtrees(low: number, high: number): Node[] {
  const nodes: Node[] = [];
  for (let at = low; at < high; ) {
    const height = Math.floor(Math.log2(high - at));
    nodes.push({ height, index: at / 2 ** height });
    at += 2 ** height;
  }
  return nodes;
}

function placeOf({ height, index }: Node) {
  const level = Math.floor(height / TILE_HEIGHT);
  const count = 2 ** (height % TILE_HEIGHT);
  return { level, index: Math.floor((index * count) / TILE_WIDTH), at: (index * count) % TILE_WIDTH, count };
}

/** The largest power of two below `width`. */
function splitOf(width: number): number {
  let split = 1;
  while (split * 2 < width) split *= 2;
  return split;
}

function toRightChild(at: number, last: number): [number, number] {
  let [here, end] = [at, last];
  while (here % 2 === 0 && here !== 0) [here, end] = [half(here), half(end)];
  return [here, end];
}

const half = (n: number) => Math.floor(n / 2);
const isSize = (n: number) => Number.isSafeInteger(n) && n >= 0;
const areHashes = (hashes: readonly Uint8Array[]) => hashes.every((hash) => hash.length === HASH_BYTES);
const equal = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
