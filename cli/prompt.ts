import { createInterface } from 'node:readline';
import type { Terminal } from './terminal.js';

/** Asks on stderr and reads one line from stdin; true only for y or yes. Rejects with the signal's reason. */
export function confirm(terminal: Terminal, question: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    // Without `terminal`: readline would switch to raw mode, and Ctrl-C would no longer be a signal.
    const lines = createInterface({ input: terminal.stdin, terminal: false });
    let isAnswered = false;
    const end = (settle: () => void) => {
      isAnswered = true;
      settle();
      signal.removeEventListener('abort', onAbort);
      lines.close();
      terminal.stdin.pause();
    };
    const onAbort = () => end(() => reject(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    lines.once('line', (line) => end(() => resolve(/^\s*y(es)?\s*$/i.test(line))));
    lines.once('close', () => {
      // At Ctrl-D nobody has ended the line of the question.
      if (!isAnswered) terminal.stderr.write('\n');
      resolve(false);
    });
    terminal.stderr.write(`${question} [y/N] `);
  });
}
