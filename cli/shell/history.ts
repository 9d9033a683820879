import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  type Stats,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { visible } from '../../lib/visible.js';
import { configDirectory } from '../config/layers.js';
import type { Context } from '../context.js';

/** The lines that were typed, newest first, as readline wants them. */
export interface History {
  readonly lines: readonly string[];
  /** Remembers the lines of a statement: nothing of one that begins with a blank, and in the file nothing of one that may hold a secret. */
  add(typed: readonly string[]): void;
}

const maxLines = 1000;
const maxLength = 4000;
/** The file is cut to its newest lines when it is larger at a start. */
const maxBytes = 512 * 1024;

/** The history of `svc shell` in `<config dir>/svc/history`, for its owner only (CL-54). Without such a file it lasts as long as the shell. */
export function openHistory({ terminal, output }: Pick<Context, 'terminal' | 'output'>): History {
  const base = configDirectory(terminal.environment, process.platform);
  const file = base === null ? null : join(base, 'svc', 'history');
  let lines: string[] = [];
  let isKept = file !== null;
  const tryFile = <T>(work: (path: string) => T): T | undefined => {
    if (!isKept || file === null) return undefined;
    try {
      return work(file);
    } catch (error) {
      isKept = false;
      output.warn(`the history is not kept: ${file}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };
  lines = tryFile(readLines) ?? [];
  return {
    get lines() {
      return lines;
    },
    add(typed) {
      if (typed[0] === undefined || /^\s/.test(typed[0])) return;
      lines = [...typed.toReversed(), ...lines].slice(0, maxLines);
      if (!mayHoldSecret(typed.join('\n'))) tryFile((path) => append(path, typed));
    },
  };
}

/** Passwords, tokens and keys, by the words around them and by their form. */
const mayHoldSecret = (text: string): boolean =>
  /passw(or)?d|\bpwd\b|identified|secret|token|credential|(api|access|private)_?key|\bsvc_\w{8}|:\/\/[^\s/@]*:[^\s@]*@|-----BEGIN/i.test(
    text,
  );

function readLines(file: string): string[] {
  return withOwn(file, (handle, { size }) => {
    const kept = readFileSync(handle, 'utf8').split('\n').filter(isPlain).slice(-maxLines);
    if (size > maxBytes) {
      ftruncateSync(handle, 0);
      writeSync(handle, kept.map((line) => `${line}\n`).join(''));
    }
    return kept.toReversed();
  });
}

const append = (file: string, typed: readonly string[]): void =>
  withOwn(file, (handle) => {
    writeSync(
      handle,
      typed
        .filter(isPlain)
        .map((line) => `${line}\n`)
        .join(''),
    );
  });

/** Keeps nothing that would control the terminal when it is shown again, and nothing that is too long to edit. */
const isPlain = (line: string): boolean => line.trim() !== '' && line.length <= maxLength && visible(line) === line;

/** One opening, which follows no link and waits for nobody, of a file that is nobody else's. */
function withOwn<T>(file: string, work: (handle: number, stat: Stats) => T): T {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  const handle = openSync(file, flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0), 0o600);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw new Error('it is not a regular file');
    if (process.platform !== 'win32' && (stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0))
      throw new Error('others can read or write it');
    return work(handle, stat);
  } finally {
    closeSync(handle);
  }
}
