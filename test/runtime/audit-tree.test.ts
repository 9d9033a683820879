import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { emptyTree, growTree, leafHash, type Tile } from '../../crypto/merkle.js';
import type { Queryable } from '../../db/client.js';
import { areInTree } from '../../runtime/audit-tree.js';

const hashOf = (text: string) => createHash('sha256').update(text).digest();
const events = Array.from({ length: 66_000 }, (_, at) => ({ seq: at + 1, event_hash: hashOf(`event ${at}`).toString('hex') }));
type Event = (typeof events)[number];

/** A tree and its tiles, which have grown by `more` events since. */
function logOf(size: number, more: number) {
  const leaves = (from: number, to: number) =>
    events.slice(from, to).map(({ event_hash }) => Uint8Array.from(Buffer.from(event_hash, 'hex')));
  const then = growTree(emptyTree, leaves(0, size));
  const now = growTree(then.tree, leaves(size, size + more));
  const tiles = new Map<string, Uint8Array>();
  const keep = ({ level, index, hashes }: Tile) => tiles.set(`${level}/${index}`, hashes);
  [...then.full, ...now.full].forEach(keep);
  for (const [level, hashes] of now.tree.edge.entries())
    if (hashes.length > 0) keep({ level, index: Math.floor((size + more) / 256 ** (level + 1)), hashes });
  return { tree: { size, root: then.root }, tiles };
}

/** Answers with the tiles that are asked for. */
const storing = (tiles: ReadonlyMap<string, Uint8Array>) =>
  ({
    query: async (_: string, [levels, indexes]: [number[], number[]]) =>
      levels.flatMap((level, at) => {
        const hashes = tiles.get(`${level}/${indexes[at]}`);
        return hashes === undefined ? [] : [{ level, index: indexes[at], hashes }];
      }),
  }) as unknown as Queryable;

const logs = [
  [1, 0],
  [2, 3],
  [255, 2],
  [256, 0],
  [257, 300],
  [700, 0],
  [65_537, 100],
].map(([size = 0, more = 0]) => logOf(size, more));
const pick = fc.constantFrom(...logs).chain((log) => {
  const seqs = fc.uniqueArray(fc.integer({ min: 1, max: log.tree.size }), { minLength: 1, maxLength: 40 });
  const near = fc
    .integer({ min: 1, max: log.tree.size })
    .map((from) => Array.from({ length: 40 }, (_, at) => from + at).filter((seq) => seq <= log.tree.size));
  return fc.tuple(
    fc.constant(log),
    fc.oneof(seqs, near).map((list) => list.sort((a, b) => a - b)),
    fc.nat(),
  );
});
const at = (seqs: readonly number[]): Event[] => seqs.map((seq) => ({ ...events[seq - 1]! }));

it('events are in the tree in their own places, and no other event in any place (AU-62)', async () => {
  await fc.assert(
    fc.asyncProperty(pick, async ([{ tree, tiles }, seqs, chosen]) => {
      const db = storing(tiles);
      expect(await areInTree(db, tree, at(seqs))).toBe(true);
      const forged = at(seqs);
      const one = forged[chosen % forged.length]!;
      one.event_hash = hashOf('forged').toString('hex');
      expect(await areInTree(db, tree, forged)).toBe(false);
      // Not even when the tile has been made to say so.
      const place = (one.seq - 1) % 256;
      const key = `0/${Math.floor((one.seq - 1) / 256)}`;
      const tile = tiles.get(key)!.slice();
      tile.set(leafHash(Buffer.from(one.event_hash, 'hex')), place * 32);
      expect(await areInTree(storing(new Map(tiles).set(key, tile)), tree, forged)).toBe(false);
    }),
    { numRuns: 60 },
  );
});

it('an event that the tree has under another number, one beyond its end, and any without its tile are not in it', async () => {
  const { tree, tiles } = logs[5]!;
  const moved = { ...events[6]!, seq: 5 };
  for (const list of [[moved], [events[3]!, moved], [events[700]!], [{ ...events[0]!, seq: 0 }]])
    expect(await areInTree(storing(tiles), tree, list)).toBe(false);
  expect(await areInTree(storing(new Map()), tree, [events[3]!])).toBe(false);
  expect(await areInTree(storing(tiles), tree, [])).toBe(true);
});
