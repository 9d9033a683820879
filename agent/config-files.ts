import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { expandText, type Variables } from '../lib/expansion.js';
import { fileFault } from '../lib/file-fault.js';

/** What reading a configuration needs: the base for relative paths, the environment, and a place to report mistakes. */
export interface Reading {
  directory: string;
  variables: Variables;
  report: (key: string, why: string) => void;
}

/** Returns the parsed file, or why it cannot be read. Only the first line of the parser's message is used: the rest quotes the file, including secrets. */
export function readToml(file: string): { toml: unknown; text: string } | { problem: string } {
  try {
    const text = readUtf8(file);
    return { toml: parse(text), text };
  } catch (error) {
    if (error instanceof TomlError)
      return { problem: `${file}:${error.line}:${error.column}: ${error.message.split('\n', 1)[0]}` };
    return { problem: `${file}: ${unreadable(error)}` };
  }
}

/**
 * Copies the parsed file with the variables in its string values expanded (AP-01). `report` gets the dotted key and the reason of
 * each value that cannot be expanded.
 */
export function expandValues(
  value: unknown,
  variables: Variables,
  report: (key: string, why: string) => void,
  key = '',
): unknown {
  if (typeof value === 'string') {
    const expanded = expandText(value, variables);
    if ('text' in expanded) return expanded.text;
    report(key, expanded.problem);
    return '';
  }
  if (Array.isArray(value)) return value.map((item, index) => expandValues(item, variables, report, `${key}[${index}]`));
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  const entries = Object.entries(value).map(([name, member]) => {
    return [name, expandValues(member, variables, report, key === '' ? name : `${key}.${name}`)];
  });
  return Object.fromEntries(entries);
}

/** The value of `key`, given directly or in the file that `<key>_file` names; giving both is a mistake (AP-01). */
export function valueOrFile(
  key: string,
  value: string | undefined,
  file: string | undefined,
  reading: Reading,
): string | undefined {
  if (value !== undefined && file !== undefined) reading.report(key, `${key} and ${key}_file exclude each other`);
  const text = (file === undefined ? value : readText(`${key}_file`, file, reading))?.trim();
  if (text === '') reading.report(file === undefined ? key : `${key}_file`, 'is empty');
  return text;
}

/** The text of a file, relative to the configuration; undefined, with a report, when it cannot be read. */
export function readText(key: string, file: string, reading: Reading): string | undefined {
  try {
    return readUtf8(resolve(reading.directory, file));
  } catch (error) {
    reading.report(key, unreadable(error));
    return undefined;
  }
}

function readUtf8(file: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array(readFileSync(file)));
}

function unreadable(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT') return 'no such file';
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not UTF-8' : `cannot be read (${fileFault(error)})`;
}
