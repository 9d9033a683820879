import type { Queryable } from '../../db/client.js';
import { findRelay, readRelay } from '../../db/results.js';
import type { JsonChunk } from '../http/reply.js';

/** Smaller answers are read whole. Larger ones are read in pieces of this size while sent, so no reader holds more than one piece (RS-I8). */
const pieceBytes = 512 * 1024;

/** The relay's envelope of an execution, as stored there (RS-45); null if it is gone. */
export async function relayed(db: Queryable, executionId: string): Promise<JsonChunk | null> {
  const found = await findRelay(db, executionId, pieceBytes);
  if (found === undefined) return null;
  return found.envelope ?? { bytes: found.bytes, read: () => pieces(db, executionId) };
}

/** Cuts off a reader so slow that the relay has dropped the rest. The reader must ask again. */
async function* pieces(db: Queryable, executionId: string): AsyncGenerator<Uint8Array> {
  for (let from = 0; ; from += pieceBytes) {
    const piece = await readRelay(db, executionId, from, pieceBytes);
    if (piece === undefined) throw new Error(`the relay has let go of execution ${executionId}`);
    if (piece.length === 0) return;
    yield piece;
  }
}
