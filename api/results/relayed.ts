import type { Queryable } from '../../db/client.js';
import { findRelay, readRelay } from '../../db/results.js';
import type { JsonChunk } from '../http/reply.js';

/** Up to this an answer is read at once; a larger one in pieces of it while it is sent, so that no reader costs more than one (RS-I8). */
const pieceBytes = 512 * 1024;

/** What the relay holds of an execution, as it was put there (RS-45); null when nothing is there any more. */
export async function relayed(db: Queryable, executionId: string): Promise<JsonChunk | null> {
  const found = await findRelay(db, executionId, pieceBytes);
  if (found === undefined) return null;
  return found.envelope ?? { bytes: found.bytes, read: () => pieces(db, executionId) };
}

/** A reader so slow that the relay has let go of the rest is cut off, and asks again. */
async function* pieces(db: Queryable, executionId: string): AsyncGenerator<Uint8Array> {
  for (let from = 0; ; from += pieceBytes) {
    const piece = await readRelay(db, executionId, from, pieceBytes);
    if (piece === undefined) throw new Error(`the relay has let go of execution ${executionId}`);
    if (piece.length === 0) return;
    yield piece;
  }
}
