import { isAbsolute, relative } from 'node:path';
import { clone } from './layout.js';

/** Quotes a word for pasting into a POSIX shell. */
export function paste(word: string): string {
  if (/^[\w./:=@+-]+$/.test(word)) return word;
  if (word.includes("'") && !/["$`\\!]/.test(word)) return `"${word}"`;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A path to use from the clone: relative when inside it. */
export function shownPath(path: string): string {
  const short = relative(clone, path);
  return short.startsWith('..') || isAbsolute(short) ? path : short;
}
