import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { emptyTree, growTree, leafHash, type Tile } from '../../crypto/merkle.js';
import { isKeyName, openCheckpoint, openNote, signCheckpoint } from '../../crypto/signed-note.js';
import {
  consistencyRuns,
  inclusionRuns,
  isConsistent,
  type Run,
  readProof,
  rootByInclusion,
  tilesOf,
} from '../../crypto/tree-proof.js';
import { isFull } from '../support/share.js';

interface Vectors {
  tree: { size: number; root: string; leaves?: number[]; from?: number[]; proofs: string };
  tile: { path: string; sha256: string };
  note: { name: string; size: number; root: string; note: string; opened: boolean };
  form: { why: string; note: string; opened: boolean };
}

const lines = readFileSync(new URL('../support/tlog/vectors.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const vectors = <K extends keyof Vectors>(kind: K): Vectors[K][] =>
  lines.flatMap((line) => (line.startsWith(`{"${kind}"`) ? [(JSON.parse(line) as Pick<Vectors, K>)[kind]] : []));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const unhex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'));
const upTo = (size: number) => Array.from({ length: size }, (_, at) => at);
/** All numbers below 12, then every 61st and the last. */
const chosen = (size: number) => upTo(size).filter((n) => n < 12 || n % 61 === 0 || n === size - 1);
const key = signingKeyFromSeed(Uint8Array.from(upTo(32)));

const count = 70_000;
const events = upTo(count).map((at) => unhex(createHash('sha256').update(`event ${at}`).digest('hex')));
/** The tiles of the largest tree. Those of a smaller one are their beginnings. */
const tiles = new Map<string, Uint8Array>();
const roots = new Map<number, string>();

beforeAll(() => {
  let tree = emptyTree;
  const keep = ({ level, index, hashes }: Tile) => tiles.set(`${level}/${index}`, hashes);
  for (const size of [...new Set([...vectors('tree').map((vector) => vector.size), count])].sort((a, b) => a - b)) {
    const grown = growTree(tree, events.slice(tree.size, size));
    grown.full.forEach(keep);
    tree = grown.tree;
    roots.set(size, hex(grown.root));
  }
  for (const [level, hashes] of tree.edge.entries()) keep({ level, index: Math.floor(tree.size / 256 ** (level + 1)), hashes });
});

/** Reads no more of a tile than the tree of that size has. */
function prove(runs: readonly Run[], size: number): Uint8Array[] {
  const needed = new Set(tilesOf(runs).map(({ level, index }) => `${level}/${index}`));
  return readProof(runs, ({ level, index }) => {
    if (!needed.has(`${level}/${index}`)) return undefined;
    return tiles.get(`${level}/${index}`)?.subarray(0, Math.max(0, Math.floor(size / 256 ** level) - index * 256) * 32);
  });
}

test('roots are those of Go for every size up to 300 and some up to 70,000 (AU-I10)', () => {
  expect(vectors('tree')).toHaveLength(360);
  for (const { size, root } of vectors('tree')) expect(roots.get(size), `${size}`).toBe(root);
});

test('proofs are those of Go, for every size up to 300 and some up to 70,000 (AU-I10)', () => {
  const isProved = ({ size }: { size: number }) => isFull || size % 4 === 0 || size > 252;
  for (const { size, leaves = chosen(size), from = chosen(size).slice(1), proofs } of vectors('tree').filter(isProved)) {
    const inclusion = leaves.map((leaf) => prove(inclusionRuns(leaf, size), size));
    const consistency = from.map((old) => prove(consistencyRuns(old, size), size));
    expect(sha256(Buffer.concat([...inclusion, ...consistency].flat())), `${size}`).toBe(proofs);
  }
});

test('proofs hold for what they prove and for nothing else', () => {
  for (const { size, root, leaves, from } of vectors('tree').filter(
    ({ size }) => size < 20 || [255, 256, 257].includes(size) || size > 60_000,
  )) {
    const to = { size, root: unhex(root) };
    for (const index of leaves ?? chosen(size)) {
      const leaf = leafHash(events[index] as Uint8Array);
      const proof = prove(inclusionRuns(index, size), size);
      const shown = (at: number, of: number, of2: Uint8Array, hashes: Uint8Array[]) =>
        hex(rootByInclusion(at, of, of2, hashes) ?? new Uint8Array(0));
      expect(shown(index, size, leaf, proof)).toBe(root);
      expect(shown(index === 0 ? 1 : index - 1, size, leaf, proof) === root && size > 1).toBe(false);
      expect(shown(index, size, leaf, [...proof, leaf])).toBe('');
      if (proof.length > 0) expect(shown(index, size, leaf, proof.slice(1))).not.toBe(root);
      expect(
        shown(
          index,
          size,
          leaf.map((byte) => byte ^ 1),
          proof,
        ),
      ).not.toBe(root);
    }
    for (const old of (from ?? [...chosen(size).slice(1), size]).filter((n) => roots.has(n))) {
      const proof = prove(consistencyRuns(old, size), size);
      const small = { size: old, root: unhex(roots.get(old) as string) };
      expect(isConsistent(small, to, proof)).toBe(true);
      expect(isConsistent({ ...small, root: small.root.map((byte) => byte ^ 1) }, to, proof)).toBe(false);
      expect(isConsistent(small, { ...to, root: to.root.map((byte) => byte ^ 1) }, proof)).toBe(false);
      expect(isConsistent(small, to, [...proof, small.root])).toBe(false);
      if (proof.length > 0) expect(isConsistent(small, to, proof.slice(0, -1))).toBe(false);
    }
  }
});

test('what is in no tree has no proof', () => {
  expect(() => inclusionRuns(5, 5)).toThrow(RangeError);
  expect(() => consistencyRuns(0, 5)).toThrow(RangeError);
  expect(() => consistencyRuns(6, 5)).toThrow(RangeError);
  expect(rootByInclusion(0, 1, new Uint8Array(31), [])).toBeNull();
  expect(rootByInclusion(1, 1, new Uint8Array(32), [])).toBeNull();
  expect(rootByInclusion(0, 2, new Uint8Array(32), [new Uint8Array(33)])).toBeNull();
  expect(isConsistent({ size: 0, root: new Uint8Array(32) }, { size: 1, root: new Uint8Array(32) }, [])).toBe(false);
  expect(() => readProof(inclusionRuns(1, 2), () => new Uint8Array(0))).toThrow(RangeError);
});

test('tiles are those of Go (AU-I10)', () => {
  for (const { path, sha256: expected } of vectors('tile')) {
    const [, level, index, width = '256'] = /^tile\/8\/(\d+)\/(\d+)(?:\.p\/(\d+))?$/.exec(path) as unknown as [
      string,
      string,
      string,
      string?,
    ];
    const hashes = tiles.get(`${Number(level)}/${Number(index)}`)?.subarray(0, Number(width) * 32) as Uint8Array;
    expect(sha256(hashes), path).toBe(expected);
  }
});

test('notes are those of Go, byte for byte (AU-I10)', () => {
  expect(vectors('note')).toHaveLength(4);
  for (const { name, size, root, note, opened } of vectors('note')) {
    expect(opened).toBe(true);
    expect(signCheckpoint({ origin: name, size, root: unhex(root) }, key)).toBe(note);
    const read = openCheckpoint(note, { name, publicKeyHex: key.publicKeyHex });
    expect(read && { ...read, root: hex(read.root) }).toEqual({ origin: name, size, root });
  }
});

test('notes are opened when Go opens them (AU-I10)', () => {
  for (const { why, note, opened } of vectors('form'))
    expect(openNote(note, { name: 'svc', publicKeyHex: key.publicKeyHex }) !== null, why).toBe(opened);
});

test('the text of a checkpoint has its size and root in one form only', () => {
  const open = (text: string) => openCheckpoint(noteOf(text), { name: 'svc', publicKeyHex: key.publicKeyHex });
  const root = Buffer.from(new Uint8Array(32)).toString('base64');
  expect(open(`svc\n7\n${root}\n`)?.size).toBe(7);
  expect(open(`svc\n7\n${root}\nan extension\n`)?.size).toBe(7);
  for (const text of [
    `svc\n07\n${root}\n`,
    `svc\n-7\n${root}\n`,
    `svc\n9007199254740993\n${root}\n`,
    `svc\n7\n${root.slice(4)}\n`,
  ])
    expect(open(text), text).toBeNull();
  expect(open(`svc\n7\n${root.slice(0, -2)}B=\n`)).toBeNull();
});

test('an origin has no white space and no plus sign', () => {
  expect(['svc', 'db.example.com:8443/x', 'ä'].every(isKeyName)).toBe(true);
  expect(['', 'a b', 'a+b', 'a\nb', 'a\u00a0b', 'a\u0085b', 'a\ud800'].some(isKeyName)).toBe(false);
  expect(() => signCheckpoint({ origin: 'a b', size: 1, root: new Uint8Array(32) }, key)).toThrow(RangeError);
});

/** Signs any text under the name of our log. */
function noteOf(text: string): string {
  const hash = unhex(sha256(Buffer.concat([Buffer.from('svc\n\u0001'), Buffer.from(key.publicKeyHex, 'hex')])).slice(0, 8));
  const line = Buffer.concat([hash, Buffer.from(key.sign(Buffer.from(text)), 'hex')]).toString('base64');
  return `${text}\n— svc ${line}\n`;
}
