import { isAbsolute, relative } from 'node:path';
import { clone } from './layout.js';

/** A word as it can be pasted into a POSIX shell. */
export function paste(word: string): string {
  if (/^[\w./:=@+-]+$/.test(word)) return word;
  if (word.includes("'") && !/["$`\\!]/.test(word)) return `"${word}"`;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A path as it can be used from the clone: short when it lies inside. */
export function shownPath(path: string): string {
  const short = relative(clone, path);
  return short.startsWith('..') || isAbsolute(short) ? path : short;
}
