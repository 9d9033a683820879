import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { unreadableAnswer } from '../faults.js';

const DATA_ROW = 0x44;
const HEADER_BYTES = 5;
/** Errors and notices hold texts that users control; without a limit one could fill the memory. */
const MAX_OTHER_BYTES = 1_048_576;

/** Takes rows from a connection's stream before the driver's own parser sees them. */
export interface RowTap {
  /** Called with each row message without its header; the bytes are valid only during the call. */
  onRow: ((row: Buffer) => void) | null;
  /** Set when the connection was ended because of AP-72. */
  tooLarge: boolean;
}

/** The replaced part of the driver's connection; the driver calls this once per connection, after TLS. */
export interface TappedConnection {
  attachListeners(stream: Duplex): void;
}

/**
 * Makes a connection pass its row messages to `tap` as raw bytes. This keeps invalid UTF-8 visible, holds no row as strings, and
 * lets a row above the limit end the connection before it is read (AP-72).
 */
export function tapRows(connection: TappedConnection, tap: RowTap, maxRowBytes: number): void {
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    const others = new EventEmitter();
    attach(others as Duplex);
    const frames = new FrameReader({
      row: (row) => tap.onRow?.(row),
      others: (bytes) => others.emit('data', bytes),
    });
    stream.on('data', (chunk: Buffer) => {
      try {
        if (frames.push(chunk, maxRowBytes)) return;
        tap.tooLarge = true;
        stream.destroy();
      } catch {
        stream.destroy(unreadableAnswer());
      }
    });
    stream.on('end', () => others.emit('end'));
  };
}

interface FrameHandlers {
  row(row: Buffer): void;
  others(messages: Buffer): void;
}

/** Splits the stream into messages: one type byte, four bytes of length that include themselves, then the content. */
class FrameReader {
  readonly #handlers: FrameHandlers;
  #chunks: Buffer[] = [];
  #size = 0;
  #needed = HEADER_BYTES;

  constructor(handlers: FrameHandlers) {
    this.#handlers = handlers;
  }

  /** False when a row, or another message, exceeds its limit; do not push anything after that. */
  push(chunk: Buffer, maxRowBytes: number): boolean {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#needed) return true;
    const bytes = this.#chunks.length === 1 ? chunk : joined(this.#chunks, this.#size);
    let offset = 0;
    let othersFrom = 0;
    this.#needed = HEADER_BYTES;
    while (offset + HEADER_BYTES <= bytes.length) {
      const isRow = bytes[offset] === DATA_ROW;
      const end = offset + 1 + bytes.readUInt32BE(offset + 1);
      if (end - offset - HEADER_BYTES > (isRow ? maxRowBytes : Math.max(maxRowBytes, MAX_OTHER_BYTES))) return false;
      if (end > bytes.length) {
        this.#needed = end - offset;
        break;
      }
      if (isRow) {
        if (othersFrom < offset) this.#handlers.others(bytes.subarray(othersFrom, offset));
        this.#handlers.row(bytes.subarray(offset + HEADER_BYTES, end));
        othersFrom = end;
      }
      offset = end;
    }
    if (othersFrom < offset) this.#handlers.others(bytes.subarray(othersFrom, offset));
    this.#chunks = offset < bytes.length ? [bytes.subarray(offset)] : [];
    this.#size = bytes.length - offset;
    return true;
  }
}

function joined(chunks: readonly Buffer[], size: number): Buffer {
  const whole = Buffer.allocUnsafe(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

/** The fields of a row message; null is SQL NULL. */
export function readFields(row: Buffer): (Buffer | null)[] {
  const count = row.readUInt16BE(0);
  const fields: (Buffer | null)[] = new Array(count);
  let offset = 2;
  for (let i = 0; i < count; i++) {
    const length = row.readInt32BE(offset);
    offset += 4;
    fields[i] = length === -1 ? null : row.subarray(offset, offset + length);
    offset += Math.max(length, 0);
  }
  return fields;
}
