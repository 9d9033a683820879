import { readFileSync, statSync } from 'node:fs';
import { parse, TomlError } from 'smol-toml';
import { kindOfConfig, misplaced } from '../lib/config-kind.js';
import { fileFault } from '../lib/file-fault.js';
import { MAX_DEPTH } from './positions.js';
import type { ConfigProblem } from './types.js';

/** A configuration takes a few kilobytes. A larger file was given by mistake. */
const MAX_BYTES = 1_048_576;

type Problem = { problem: ConfigProblem };

/** The text of a file, or why it cannot be read. */
export function readSource(file: string): { text: string } | Problem {
  try {
    if (statSync(file).size > MAX_BYTES) return unreadable(file, 'is larger than 1 MiB');
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array(readFileSync(file))) };
  } catch (error) {
    if (error instanceof TypeError) return unreadable(file, 'is not UTF-8');
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return unreadable(file, `cannot be read (${fileFault(error)})`);
    return { problem: { ...unreadable(file, 'there is no such file').problem, hint: 'svc init writes one' } };
  }
}

/** Not the file of another program. Tells only the first line of the parser's message (CF-62): the rest quotes the file, secrets included. */
export function parseToml(file: string, text: string): { table: Record<string, unknown> } | Problem {
  try {
    const table = parse(text, { integersAsBigInt: true, maxDepth: MAX_DEPTH });
    const kind = kindOfConfig(table);
    return kind === null || kind === 'server.toml' ? { table } : unreadable(file, misplaced[kind]);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = error.message.split('\n', 1)[0]?.replace(/^Invalid TOML document: /, '') ?? '';
    const { line, column } = error;
    const isVariable = text.split('\n')[line - 1]?.startsWith('${', column - 1) === true;
    const { problem } = unreadable(file, message, { line, column });
    return { problem: { ...problem, hint: isVariable ? 'a variable needs quotes around it' : null } };
  }
}

/** A file that is not read at all. */
function unreadable(file: string, message: string, { line, column } = { line: 1, column: 1 }): Problem {
  return { problem: { file, line, column, key: '', message, hint: null } };
}
