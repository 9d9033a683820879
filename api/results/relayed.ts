import type { Queryable } from '../../db/client.js';
import { findRelay, readRelay } from '../../db/results.js';
import type { JsonChunk } from '../reply.js';

/** Up to this an answer is read at once; a larger one in pieces while it is sent, so that no reader costs more than this (RS-I8). */
const heldBytes = 1024 * 1024;
/** Of at most four bytes each. Postgres unpacks all that lies before a piece: in smaller ones it would work more than it sends. */
const pieceChars = 1024 * 1024;

/** What the relay holds of an execution, as it was put there (RS-45); null when nothing is there any more. */
export async function relayed(db: Queryable, executionId: string): Promise<JsonChunk | null> {
  const found = await findRelay(db, executionId, heldBytes);
  if (found === undefined) return null;
  return found.envelope ?? { bytes: found.bytes, read: () => pieces(db, executionId) };
}

/** A reader so slow that the relay has let go of the rest is cut off, and asks again. */
async function* pieces(db: Queryable, executionId: string): AsyncGenerator<Uint8Array> {
  for (let from = 0; ; from += pieceChars) {
    const piece = await readRelay(db, executionId, from, pieceChars);
    if (piece === undefined) throw new Error(`the relay has let go of execution ${executionId}`);
    if (piece === '') return;
    yield Buffer.from(piece);
  }
}
