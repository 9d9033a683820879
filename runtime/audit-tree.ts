import { HASH_BYTES, leafHash, TILE_WIDTH } from '../crypto/merkle.js';
import { inclusionRuns, readProof, rootByInclusion, type SizedRoot, type TilePlace, tilesOf } from '../crypto/tree-proof.js';
import { readTiles } from '../db/audit-tree.js';
import type { Queryable } from '../db/client.js';
import type { SealedEvent } from '../domain/audit/event.js';

type Placed = Pick<SealedEvent, 'seq' | 'event_hash'>;

/**
 * Whether the tree has each of these events in its place, one in each: `seq` itself is in no hash of the chain. The first event of each tile is proven with
 * all other hashes of the tile, which proves these too. So the next events of that tile only have to be there. In order of `seq` it costs a proof for 256 events.
 */
export async function areInTree(db: Queryable, { size, root }: SizedRoot, events: readonly Placed[]): Promise<boolean> {
  // A second event in the place of the first of its tile would be compared with the one hash there that nothing proves.
  if (!events.every(({ seq }, at) => seq > (events[at - 1]?.seq ?? 0) && seq <= size)) return false;
  const isFirst = ({ seq }: Placed, at: number) => at === 0 || tileOf(seq) !== tileOf(events[at - 1]!.seq);
  const runsOf = ({ seq }: Placed) => inclusionRuns(seq - 1, size);
  const first = events.filter(isFirst);
  const places = [...first.map(({ seq }) => ({ level: 0, index: tileOf(seq) })), ...tilesOf(first.flatMap(runsOf))];
  const tiles = await readTiles(db, places);
  const hashesOf = ({ level, index }: TilePlace) => tiles.get(`${level}/${index}`);
  try {
    return events.every((event, at) => {
      const leaf = leafHash(Uint8Array.from(Buffer.from(event.event_hash, 'hex')));
      if (!isFirst(event, at)) return equal(leaf, hashAt(hashesOf({ level: 0, index: tileOf(event.seq) }), event.seq));
      return equal(root, rootByInclusion(event.seq - 1, size, leaf, readProof(runsOf(event), hashesOf)));
    });
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const tileOf = (seq: number) => Math.floor((seq - 1) / TILE_WIDTH);
const equal = (hash: Uint8Array, other: Uint8Array | null) => other !== null && Buffer.compare(hash, other) === 0;

function hashAt(hashes: Uint8Array | undefined, seq: number): Uint8Array | null {
  const start = ((seq - 1) % TILE_WIDTH) * HASH_BYTES;
  return hashes?.subarray(start, start + HASH_BYTES) ?? null;
}
