import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { fileFault } from '../lib/file-fault.js';
import type { Context } from './context.js';
import { failure } from './failure.js';

/** The server accepts 100,000 bytes of SQL (RQ-12). Reads a little more, so that the server's own refusal names the limit. */
const maxInputBytes = 4 * 1024 * 1024;

/** The bytes of a file that a command was given, `-` for stdin. */
export async function readInput(context: Context, file: string): Promise<Uint8Array> {
  return file === '-' ? await readAll(context.terminal.stdin, context.signal) : readGiven(context, file);
}

/** The text of a file that a command was given; '' if it is not UTF-8, which no document is. */
export function readTextFile(context: Context, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readGiven(context, file));
  } catch (error) {
    if (error instanceof TypeError) return '';
    throw error;
  }
}

function readGiven({ terminal, what }: Context, file: string): Uint8Array {
  const path = resolve(terminal.directory, file);
  try {
    return Uint8Array.from(readFileSync(path));
  } catch (error) {
    throw failure('usage', `${what}: ${path} cannot be read (${fileFault(error)})`);
  }
}

async function readAll(stdin: Readable, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of addAbortSignal(signal, stdin)) {
      const data = Uint8Array.from(Buffer.from(chunk as string));
      bytes += data.length;
      if (bytes > maxInputBytes) throw failure('usage', 'stdin holds more than 4 MiB');
      chunks.push(data);
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
  return Uint8Array.from(Buffer.concat(chunks));
}
