import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { auditEventKeys } from '../domain/audit/event.js';
import type { ExportFormat } from '../domain/audit/export-format.js';

/** No event is longer, and no other line may fill the memory. */
const longestLineBytes = 16 * 1024 * 1024;
const newline = 0x0a;
const quote = 0x22;

/** A line with its end; null stands for bytes that are not UTF-8, or too many. */
export interface FileLine {
  number: number;
  text: string | null;
  /** Where it begins in the file. */
  offset: number;
}

export const formatOfFirstLine = (line: string | null): ExportFormat =>
  line === `${auditEventKeys.join(',')}\r\n` ? 'csv' : 'ndjson';

/** The records of a file one by one; in a CSV a record goes on while a quote is open. */
export async function* linesOf(path: string, format: ExportFormat): AsyncGenerator<FileLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let [rest, offset, number] = [Buffer.alloc(0), 0, 0];
  const lineOf = (bytes: Buffer): FileLine => {
    number += 1;
    const line = { number, text: textOf(decoder, bytes), offset };
    offset += bytes.length;
    return line;
  };
  for await (const part of createReadStream(path)) {
    rest = Buffer.concat([rest, part as Buffer]);
    for (let end = endOf(rest, format); end > 0; end = endOf(rest, format)) {
      yield lineOf(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
    if (rest.length > longestLineBytes) break;
  }
  if (rest.length > 0) yield rest.length > longestLineBytes ? { number: number + 1, text: null, offset } : lineOf(rest);
}

function endOf(bytes: Buffer, format: ExportFormat): number {
  if (format === 'ndjson') return bytes.indexOf(newline) + 1;
  let isOpen = false;
  for (let at = 0; at < bytes.length; at += 1) {
    if (bytes[at] === quote) isOpen = !isOpen;
    else if (bytes[at] === newline && !isOpen) return at + 1;
    // The manifest is not a row, so its quotes do not count.
    else if (at === 0 && bytes[0] === 0x23) return bytes.indexOf(newline) + 1;
  }
  return 0;
}

function textOf(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** The last line, where the manifest stands; it is needed before the first event. */
export async function lastLineOf(path: string): Promise<{ text: string; offset: number }> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const bytes = await readEnd(file, size);
    const before = bytes.lastIndexOf(newline, bytes.length - 2);
    return { text: bytes.subarray(before + 1).toString('utf8'), offset: size - bytes.length + before + 1 };
  } finally {
    await file.close();
  }
}

const longestManifestBytes = 64 * 1024;

async function readEnd(file: FileHandle, size: number): Promise<Buffer> {
  const length = Math.min(size, longestManifestBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead);
}

/** The first line; empty if the file has none. */
export async function firstLineOf(path: string): Promise<string | null> {
  for await (const { text } of linesOf(path, 'ndjson')) return text;
  return '';
}
