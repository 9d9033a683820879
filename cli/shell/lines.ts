import { createInterface } from 'node:readline';
import type { Terminal } from '../terminal.js';

/** Ctrl-C at the prompt. */
export const cancelled = Symbol('cancelled');

/** The words that may stand at the end of a line, and the part of it that they would replace. */
export type Complete = (line: string) => Promise<[string[], string]>;

export interface LineReader {
  /** A line, Ctrl-C, or null at the end of the input. */
  next(prompt: string, history: readonly string[]): Promise<string | typeof cancelled | null>;
  /** Forgets what was pasted behind the last line. */
  drop(): boolean;
}

/**
 * Reads lines from a terminal by readline, on stderr. Between two lines readline is closed: what runs then asks its own questions, and
 * Ctrl-C is a signal again.
 */
export function createLineReader({ stdin, stderr }: Terminal, complete: Complete, signal: AbortSignal): LineReader {
  let pasted: string[] = [];
  let begun = '';
  return {
    async next(prompt, history) {
      const waiting = pasted.shift();
      if (waiting !== undefined) return waiting;
      const text = begun;
      begun = '';
      const { lines, end, rest } = await readLines({ stdin, stderr, prompt, history, complete, text, signal });
      begun = rest;
      pasted = lines;
      return pasted.shift() ?? end;
    },
    drop() {
      const isMore = pasted.length > 0 || begun !== '';
      pasted = [];
      begun = '';
      return isMore;
    },
  };
}

interface Reading extends Pick<Terminal, 'stdin' | 'stderr'> {
  prompt: string;
  history: readonly string[];
  complete: Complete;
  /** What the line begins with. */
  text: string;
  signal: AbortSignal;
}

interface Read {
  /** One line, or those of a paste. */
  lines: string[];
  end: typeof cancelled | null;
  /** The beginning of another line. */
  rest: string;
}

function readLines({ stdin, stderr, prompt, history, complete, text, signal }: Reading): Promise<Read> {
  return new Promise((resolve) => {
    const lines: string[] = [];
    let end: Read['end'] = null;
    let rest = '';
    const reader = createInterface({
      input: stdin,
      output: stderr,
      terminal: true,
      prompt,
      signal,
      history: [...history],
      completer: (line: string, done: (error: null, result: [string[], string]) => void) =>
        void complete(line).then(
          (found) => done(null, found),
          () => done(null, [[], line]),
        ),
    });
    const close = () => {
      rest = reader.line;
      reader.close();
    };
    reader.on('line', (line) => {
      // A paste has more lines, which come before the next turn of the loop.
      if (lines.push(line) === 1) setImmediate(close);
    });
    reader.once('SIGINT', () => {
      end = cancelled;
      stderr.write('^C\n');
      reader.close();
    });
    reader.once('close', () => resolve({ lines, end, rest }));
    reader.prompt();
    if (text !== '') reader.write(text);
  });
}
