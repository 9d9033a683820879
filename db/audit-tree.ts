import type { TilePlace } from '../crypto/tree-proof.js';
import type { Queryable } from './client.js';

/** The tree as it was signed with the newest head (AU-80). Hashes and signature are lower-case hex. */
export interface TreeHead {
  seq: number;
  treeRoot: string;
  keyId: string;
  treeSignature: string;
}

/** Null while nothing is sealed. */
export async function findTreeHead(db: Queryable): Promise<TreeHead | null> {
  const [head] = await db.query<TreeHead>(
    `select seq, tree_root as "treeRoot", key_id as "keyId", tree_signature as "treeSignature" from audit_head`,
  );
  return head ?? null;
}

/** The hashes of these tiles by `<level>/<index>`. A tile may meanwhile have more hashes than the tree that a caller knows. */
export async function readTiles(db: Queryable, places: readonly TilePlace[]): Promise<Map<string, Uint8Array>> {
  const rows = await db.query<TilePlace & { hashes: Uint8Array }>(
    `select level, index, hashes from audit_tiles join unnest($1::smallint[], $2::bigint[]) wanted(level, index) using (level, index)`,
    [places.map(({ level }) => level), places.map(({ index }) => index)],
  );
  return new Map(rows.map(({ level, index, hashes }) => [`${level}/${index}`, new Uint8Array(hashes)]));
}
