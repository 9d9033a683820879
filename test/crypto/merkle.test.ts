import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { emptyTree, growTree, type Tile, treeOfEdge, treeRoot } from '../../crypto/merkle.js';

const sha256 = (...parts: Uint8Array[]) => Uint8Array.from(createHash('sha256').update(Buffer.concat(parts)).digest());
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const named = ({ level, index, hashes }: Tile) => `${level}/${index} ${hex(hashes)}`;
const events = Array.from({ length: 66_000 }, (_, at) => sha256(Buffer.from(`event ${at}`)));

/** RFC 6962, section 2.1, word for word. */
function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return sha256(Uint8Array.of(0), leaves[0] as Uint8Array);
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return sha256(Uint8Array.of(1), rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)));
}

function grownBy(batches: readonly number[]) {
  let tree = emptyTree;
  const tiles: Tile[] = [];
  for (const count of batches) {
    const grown = growTree(tree, events.slice(tree.size, tree.size + count));
    tree = grown.tree;
    tiles.push(...grown.full);
  }
  return { tree, tiles };
}

test('the root is that of RFC 6962 for every size up to 300, grown one by one', () => {
  expect(hex(treeRoot(emptyTree))).toBe(hex(sha256()));
  let tree = emptyTree;
  for (let size = 1; size <= 300; size++) {
    const grown = growTree(tree, [events[size - 1] as Uint8Array]);
    tree = grown.tree;
    expect(hex(grown.root)).toBe(hex(rootOf(events.slice(0, size))));
    expect(treeOfEdge(size, tree.edge)).toEqual(tree);
  }
});

test('batches of any size give one tree and the same full tiles', () => {
  const whole = growTree(emptyTree, events);
  expect(hex(whole.root)).toBe(hex(rootOf(events)));
  expect(whole.full.map(({ level, index }) => `${level}/${index}`).slice(255, 258)).toEqual(['0/255', '1/0', '0/256']);
  const grown = grownBy([1, 254, 1, 1, 255, 512, 3000, 61_000, 976]);
  expect(grown.tree).toEqual(whole.tree);
  expect(grown.tiles.map(named)).toEqual(whole.full.map(named));
});

test('a tile holds the hashes of its level, and the edge the rest', () => {
  const { tree, tiles } = grownBy([700]);
  expect(tiles.map(({ level, index, hashes }) => [level, index, hashes.length])).toEqual([
    [0, 0, 8192],
    [0, 1, 8192],
  ]);
  expect(tree.edge.map(({ length }) => length / 32)).toEqual([188, 2]);
  expect(hex(tiles[1]?.hashes.subarray(0, 32) as Uint8Array)).toBe(hex(rootOf([events[256] as Uint8Array])));
  expect(hex(tree.edge[1]?.subarray(32) as Uint8Array)).toBe(hex(rootOf(events.slice(256, 512))));
});

test('what is no tree of its size is refused', () => {
  const { tree } = grownBy([300]);
  expect(() => treeOfEdge(301, tree.edge)).toThrow(RangeError);
  expect(() => treeOfEdge(300, tree.edge.slice(1))).toThrow(RangeError);
  expect(() => growTree({ ...tree, size: 299 }, [])).toThrow(RangeError);
  expect(() => growTree({ ...tree, peaks: tree.peaks.slice(1) }, [])).toThrow(RangeError);
  expect(() => growTree(tree, [new Uint8Array(31)])).toThrow(RangeError);
});
