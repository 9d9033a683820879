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
  const { content_length: length, valid_json: isJson } = recorded;
  const isHeld = (length ?? 0) <= heldBytes;
  const { start, stringBytes } = await check(services, recorded, isHeld ? heldBytes : 0);
  if (isHeld) return isJson === true ? start : JSON.stringify(Buffer.from(start).toString());
  if (isJson === true) return { bytes: length ?? 0, read: () => allPieces(services, recorded) };
  return { bytes: stringBytes, read: () => asJsonString(allPieces(services, recorded)) };
}

/** The first bytes of the stored text, which is compared whole, as for every other reader (RS-36). */
export async function storedStart(services: Services, recorded: Recorded, limitBytes: number): Promise<Uint8Array> {
  return (await check(services, recorded, limitBytes)).start;
}

/** Throws if the data is missing or differs from its record: a bug, which the log names. `start` is the first `keptBytes` of it. */
async function check(
  services: Services,
  recorded: Recorded,
  keptBytes: number,
): Promise<{ start: Uint8Array; stringBytes: number }> {
  const hash = createHash('sha256');
  const parts: Uint8Array[] = [];
  let read = 0;
  let stringBytes = 0;
  const look = async () => {
    const counted = count(pieces(services, recorded), (piece) => {
      hash.update(piece);
      if (read < keptBytes) parts.push(piece);
      read += piece.length;
    });
    if (recorded.valid_json === true || keptBytes > 0) for await (const _ of counted);
    else for await (const piece of asJsonString(counted)) stringBytes += piece.length;
  };
  await reachResults(services, look);
  if (read !== recorded.content_length || hash.digest('hex') !== recorded.sha256) throw missing(recorded);
  return { start: Buffer.concat(parts).subarray(0, keptBytes), stringBytes };
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

/**
 * The same, for sending what was compared before. This second read is compared too, and breaks off before its last piece if the object was removed or
 * changed since, or came damaged: what is not the whole must not look like it.
 */
async function* allPieces(services: Services, recorded: Recorded): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let read = 0;
  let last: Uint8Array | null = null;
  for await (const piece of pieces(services, recorded)) {
    if (last !== null) yield last;
    hash.update(piece);
    read += piece.length;
    last = piece;
  }
  if (last === null || read !== recorded.content_length || hash.digest('hex') !== recorded.sha256) throw missing(recorded);
  yield last;
}

async function* asJsonString(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const escaped = (text: string) => Buffer.from(insideString(text));
  yield Buffer.from('"');
  for await (const piece of pieces) yield escaped(decoder.decode(piece, { stream: true }));
  yield Buffer.from(`${insideString(decoder.decode())}"`);
}
