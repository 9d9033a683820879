import { createHash } from 'node:crypto';
import type { ExecutionResult } from '../../db/results.js';
import { insideString } from '../../lib/json/write.js';
import { reachResults } from '../../runtime/result-store.js';
import type { Services } from '../context.js';
import type { JsonChunk } from '../http/reply.js';

/** Smaller results are held in memory while they are checked. Larger ones are read twice, so no reader holds more than this (RS-I8). */
const heldBytes = 1024 * 1024;

/** A result that is known to be recorded. */
type Recorded = Pick<ExecutionResult, 'id' | 'backend' | 'object_key' | 'data' | 'content_length' | 'sha256' | 'valid_json'>;

/** The stored text as JSON: passed through, or encoded as a JSON string (RS-10, RS-11). Compared with what was recorded before it is sent (RS-36). */
export async function storedText(services: Services, recorded: Recorded): Promise<JsonChunk> {
  const { held, stringBytes } = await check(services, recorded);
  if (recorded.valid_json === true)
    return held ?? { bytes: recorded.content_length ?? 0, read: () => allPieces(services, recorded) };
  if (held !== null) return JSON.stringify(Buffer.from(held).toString());
  return { bytes: stringBytes, read: () => asJsonString(allPieces(services, recorded)) };
}

/** The first bytes of the stored text, which is compared whole, as for every other reader (RS-36). */
export async function storedStart(services: Services, recorded: Recorded, limitBytes: number): Promise<Uint8Array> {
  const { held } = await check(services, recorded);
  if (held !== null) return held.subarray(0, limitBytes);
  const parts: Uint8Array[] = [];
  let read = 0;
  for await (const piece of allPieces(services, recorded)) {
    parts.push(piece);
    read += piece.length;
    if (read >= limitBytes) break;
  }
  return Buffer.concat(parts).subarray(0, limitBytes);
}

/** Throws if the data is missing or differs from its record: a bug, which the log names. */
async function check(services: Services, recorded: Recorded): Promise<{ held: Uint8Array | null; stringBytes: number }> {
  const { content_length: length, sha256, valid_json: isJson } = recorded;
  const holds = (length ?? 0) <= heldBytes;
  const hash = createHash('sha256');
  const parts: Uint8Array[] = [];
  let stringBytes = 0;
  const look = async () => {
    let read = 0;
    const counted = count(pieces(services, recorded), (piece) => {
      hash.update(piece);
      read += piece.length;
      if (holds && read <= heldBytes) parts.push(piece);
    });
    if (isJson === true || holds) for await (const _ of counted);
    else for await (const piece of asJsonString(counted)) stringBytes += piece.length;
    return read;
  };
  const read = await reachResults(services, look);
  if (read !== length || hash.digest('hex') !== sha256) throw missing(recorded);
  return { held: holds ? Buffer.concat(parts) : null, stringBytes };
}

const missing = ({ id, backend }: Recorded) =>
  new Error(`stored result of execution ${id} (backend ${backend}) is missing or changed`);

async function* count(pieces: AsyncIterable<Uint8Array>, see: (piece: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    see(piece);
    yield piece;
  }
}

/** A missing object yields nothing, so its length and hash do not match the record. */
async function* pieces({ results }: Services, { backend, object_key: key, data }: Recorded): AsyncGenerator<Uint8Array> {
  if (data !== null) yield data;
  const found = key === null || backend !== results.backend ? null : await results.read(key);
  if (found !== null) yield* found;
}

/** The same, for sending what was compared before. Breaks off if the object was removed since: a part must not look like the whole. */
async function* allPieces(services: Services, recorded: Recorded): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const piece of pieces(services, recorded)) {
    read += piece.length;
    yield piece;
  }
  if (read !== recorded.content_length) throw missing(recorded);
}

async function* asJsonString(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const escaped = (text: string) => Buffer.from(insideString(text));
  yield Buffer.from('"');
  for await (const piece of pieces) yield escaped(decoder.decode(piece, { stream: true }));
  yield Buffer.from(`${insideString(decoder.decode())}"`);
}
