import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Context } from './context.js';
import { failure } from './failure.js';

/** The text of a file that a command was given; '' if it is not UTF-8, which no document is. */
export function readTextFile(context: Context, file: string): string {
  const path = resolve(context.terminal.directory, file);
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.from(readFileSync(path));
  } catch (error) {
    throw failure(
      'usage',
      `${context.what}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`,
    );
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return '';
  }
}
